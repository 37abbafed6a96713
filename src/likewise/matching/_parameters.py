"""Checks of a matcher's parameters."""

from typing import Any

from likewise._validation import check_bool, check_choice, check_number, check_whole_number
from likewise.matching._decision import LINKS
from likewise.matching._learner import LEARNERS
from likewise.matching._records import check_wanted


def check_parameters(matcher: Any, *, one_table: bool) -> None:
    """Refuse parameters of a `Matcher` that are not valid for two tables, or for one."""
    check_wanted(matcher.fields)
    check_whole_number(matcher.k, "k")
    check_bool(matcher.one_to_one, "one_to_one")
    check_choice(matcher.link, "link", LINKS)
    check_choice(matcher.learner, "learner", LEARNERS)
    check_whole_number(matcher.random_state, "random_state", minimum=0)
    if matcher.one_to_one and one_table:
        raise ValueError("one_to_one is for two tables, but right is not given.")
    if isinstance(matcher.threshold, str):
        check_choice(matcher.threshold, "threshold", ["f1"])
    else:
        check_number(matcher.threshold, "threshold", minimum=0, exclusive=True, maximum=1)
    if matcher.precision is not None:
        check_number(matcher.precision, "precision", minimum=0, exclusive=True, maximum=1)
        if matcher.threshold != "f1":
            raise ValueError("threshold and precision are both given; one is needed.")

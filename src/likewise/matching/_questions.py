"""Which pairs to ask a person about, and how the judging answers judge."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from likewise.matching._calibration import interval
from likewise.matching._labels import Labels

_JUDGES_EVERY = 5
_FIRST = 10  # questions before the most uncertain pairs are asked
_TOP_SHARE = 0.05
_JUDGING_STREAM = (0, 1)  # of random numbers, apart from that of any number of questions asked


def choose_questions(
    n: int,
    asked: int,
    labeled: int,
    known: np.ndarray,
    uncertainty: np.ndarray,
    appeal: np.ndarray,
    random_state: int,
    *,
    guessing: bool,
) -> list[tuple[int, bool]]:
    """Return candidates to ask about, and whether each is a judging question.

    Every fifth question judges, and comes from the candidates that `judging_order` reserves. The
    first ten others are, in turn, of the top twentieth by `appeal` and random; then the most
    uncertain come. Labels that were given take the place of first questions. Where either kind of
    candidates has run out, the other kind is asked.

    Parameters
    ----------
    n : int
    asked : int
        Questions asked before.
    labeled : int
        Pairs that were labeled without being asked.
    known : (n_candidates,) bool array
        Candidates that were asked or labeled before.
    uncertainty : (n_candidates,) array
    appeal : (n_candidates,) similarity plus lead
    random_state : int
    guessing : bool
        Whether labels of both kinds are still lacking; then top and random pairs go on.
    """
    open_ = ~known
    reserved = judging_order(len(known), random_state)
    learnable = np.delete(np.arange(len(known)), reserved)
    rng = np.random.default_rng([random_state, asked])
    top = _falling(appeal, learnable)[: max(1, int(_TOP_SHARE * len(learnable)))]
    judging = _taken(reserved, open_)
    randoms = _taken(rng.permutation(learnable), open_)
    tops = _taken(rng.permutation(top), open_)
    uncertain = _taken(_falling(uncertainty, learnable), open_)
    chosen = []
    sources: tuple[Iterator[int], ...]
    for number in range(asked, asked + min(n, int(open_.sum()))):
        n_learned = number - number // _JUDGES_EVERY
        if number % _JUDGES_EVERY == _JUDGES_EVERY - 1:
            sources = judging, uncertain
        elif guessing or labeled + n_learned < _FIRST:
            sources = tops if n_learned % 2 == 0 else randoms, randoms, judging
        else:
            sources = uncertain, judging
        source, place = _first_of(sources)
        open_[place] = False
        chosen.append((place, source is judging))
    return chosen


def judging_order(n_candidates: int, random_state: int) -> np.ndarray:
    """Return the candidates that are reserved for judging, in the order in which they are asked.

    They are the beginning of a random permutation that depends on neither answers nor
    probabilities, and are never asked in order to learn: however many of them are asked, these
    are a random sample of all candidates. As every fifth question judges, a fifth is enough.
    """
    rng = np.random.default_rng([random_state, *_JUDGING_STREAM])
    return rng.permutation(n_candidates)[: n_candidates // _JUDGES_EVERY]


def _falling(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return places by falling value."""
    return places[np.argsort(-values[places], kind="stable")]


def _taken(order: np.ndarray, open_: np.ndarray) -> Iterator[int]:
    """Yield the candidates of an order that are still open when their turn comes."""
    return (int(place) for place in order if open_[place])


def _first_of(sources: tuple[Iterator[int], ...]) -> tuple[Iterator[int], int]:
    """Return the first source that has not run out, and its next candidate."""
    return next((source, place) for source in sources for place in source)


def plausible_share(estimated: float, answers: dict[str, Any]) -> tuple[float, str] | None:
    """Return the share of matches to use, and a sentence, if the judging answers exclude it.

    A share outside their 95 % interval is replaced by the nearer end of it.
    """
    share, low, high = answers["share"]
    if low <= estimated <= high:
        return None
    used = low if estimated < low else high
    return used, (
        f"The estimated share of matches among the candidates, {estimated:.3f}, is outside the "
        f"interval of the judging answers ({share:.3f}, from {low:.3f} to {high:.3f}): {used:.3f} "
        "is used. These answers set this share, and the threshold with it: the judged figures come "
        "from the same answers, and can be too good."
    )


def judged(labels: Labels, decided: np.ndarray) -> dict[str, Any]:
    """Return precision, recall and F1 on judging answers, each with its 95 % interval.

    F1 is 2J / (1 + J), where J is the share of true matches among the pairs that are decided, or
    matches, or both; the interval of J gives that of F1.

    Parameters
    ----------
    labels : Labels
        The judging answers.
    decided : bool array
        Which of them are decided as matches.
    """
    found = int((decided & labels.is_match).sum())
    n_decided, n_matches, n = int(decided.sum()), labels.n_matches, len(labels)
    n_either = n_decided + n_matches - found
    shares = (found / n_either if n_either else None, *interval(found, n_either))
    return {
        "n": n,
        "precision": (found / n_decided if n_decided else None, *interval(found, n_decided)),
        "recall": (found / n_matches if n_matches else None, *interval(found, n_matches)),
        "f1": tuple(None if j is None else 2 * j / (1 + j) for j in shares),
        "share": (n_matches / n if n else None, *interval(n_matches, n)),
    }

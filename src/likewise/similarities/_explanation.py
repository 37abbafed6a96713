"""Explanation of a score by the terms that sum to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from likewise._validation import check_whole_number


class Term(NamedTuple):
    """The contribution of one query feature and one item feature to a score."""

    query_feature: str
    item_feature: str
    contribution: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """The strongest terms of a score, over which it iterates.

    Attributes
    ----------
    score : float
    terms : tuple of Term
        Strongest first, by absolute value.
    rest : float
        The sum of all other terms.
    """

    score: float
    terms: tuple[Term, ...]
    rest: float

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def __repr__(self) -> str:
        return f"Explanation(score={self.score:.4g}, {len(self.terms)} terms, rest={self.rest:.4g})"

    def __str__(self) -> str:
        lines = [f"{label:>40}  {value:+.4g}" for label, value in self._labeled()]
        return "\n".join([f"score {self.score:.4g}", *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(label)}</td><td style='text-align:right'>{value:+.4g}</td></tr>"
            for label, value in self._labeled()
        )
        return f"<table><tr><th>score</th><th>{self.score:.4g}</th></tr>{rows}</table>"

    def _labeled(self) -> Iterator[tuple[str, float]]:
        for query_feature, item_feature, contribution in self.terms:
            same = query_feature == item_feature
            yield query_feature if same else f"{query_feature} × {item_feature}", contribution
        if self.rest:
            yield "the rest", self.rest


def strongest(
    score: float,
    contributions: np.ndarray,
    query_features: np.ndarray,
    item_features: np.ndarray,
    names: tuple["Names", "Names"],
    top: int | None,
) -> Explanation:
    """Return the `top` strongest of `contributions`, and the sum of the others.

    Parameters
    ----------
    score : float
    contributions : (n_terms,) array
    query_features, item_features : (n_terms,) arrays of feature numbers
    names : names of the features on either side
    top : int or None
    """
    if top is not None:
        top = check_whole_number(top, "top")
    order = np.argsort(-np.abs(contributions), kind="stable")
    kept, others = order[:top], order[len(order) if top is None else top :]
    terms = tuple(
        Term(
            names[0][int(query_features[t])],
            names[1][int(item_features[t])],
            float(contributions[t]),
        )
        for t in kept
    )
    return Explanation(float(score), terms, float(contributions[others].sum()))


class Names:
    """Names of features: the given ones, or x0, x1, and so on."""

    def __init__(self, given: Any, argument: str, n_features: int) -> None:
        self._given: Sequence[Any] | None = None if given is None else list(given)
        if self._given is not None and len(self._given) != n_features:
            raise ValueError(
                f"{argument} has {len(self._given)} names, but there are {n_features} features."
            )

    def __getitem__(self, feature: int) -> str:
        return f"x{feature}" if self._given is None else str(self._given[feature])

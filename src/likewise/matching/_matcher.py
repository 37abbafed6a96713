"""`Matcher`: find the records of two tables, or of one, that mean the same thing."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from likewise._files import fields
from likewise._validation import check_whole_number
from likewise._warnings import warn
from likewise.matching._calibration import (
    choose_threshold,
    forecast,
    offset_for_share,
    probability,
)
from likewise.matching._candidates import Candidates
from likewise.matching._decision import Decision, decide
from likewise.matching._explanation import PairExplanation, explain_pair, field_weights
from likewise.matching._labels import (
    NO_LABELS,
    Labels,
    check_both_kinds,
    contradictions,
    merge_labels,
    names_the_answer,
    read_labels,
    read_pair,
    read_pairs,
)
from likewise.matching._model import PairModel, PairScores, learned_model
from likewise.matching._parameters import check_parameters
from likewise.matching._questions import choose_questions, judged, plausible_share
from likewise.matching._records import (
    KINDS,
    WHOLE,
    common_fields,
    fingerprint,
    kinds_of,
    read_records,
)
from likewise.matching._report import UNCHECKED, MatchReport, make_report
from likewise.matching._search import search_rows, search_similarity
from likewise.matching._tables import ComparedTables, compare_tables, read_sides
from likewise.similarities import Bilinear

_SHARE = fields.Number(whole=False)
_JUDGED = fields.ListOf(fields.OrNone(_SHARE), 3)  # a share and the ends of its interval


class Matcher(BaseEstimator):
    """Find the records of two tables, or of one, that mean the same thing.

    The candidates are the `k` nearest records of each record. Fields, words, codes and the lead
    over other records are compared; a logistic regression and a forest learn from labeled pairs,
    and their probability is calibrated to the share of matches among the candidates. Without
    labels, a model of agreement is estimated by EM: a guess, which works for people and citations.
    It finds likely matches also where there are none, and its forecast is not checked.

    Parameters
    ----------
    fields : list of str or dict, optional
        The columns to compare, or a dict with their kinds (``"number"``, ``"string"``, ``"text"``
        or None). By default all columns that both tables have.
    k : int, default=10
        Neighbors of each record that become candidates, in both directions.
    one_to_one : bool, default=False
        Whether a record can match one record at most.
    threshold : "f1" or float, default="f1"
        Probability from which a pair is decided as a match; ``"f1"`` has the largest expected F1.
    precision : float, optional
        In place of `threshold`: the lowest one whose expected precision is at least this.
    link : {"average", "single"}, default="average"
        In one table, clusters join if the mean probability of all pairs between them reaches the
        threshold, or if a single pair does.
    learner : {"auto", "logistic", "forest"}, default="auto"
        ``auto`` is the mean of both probabilities.
    random_state : int, default=0

    Attributes
    ----------
    fields_ : dict
        Kind of each field.
    candidates_ : Candidates
        ``left`` and ``right``: row numbers of the pairs that were compared.
    threshold_ : float
    share_ : float
        Estimated share of matches among the candidates; ``offset_`` of the log odds leads to it.
    forecast_ : dict
        Expected ``precision``, ``recall`` and ``f1`` among the candidates. Without labels they
        can be far too high.
    judged_ : dict or None
        ``precision``, ``recall``, ``f1`` and ``share`` from the judging answers, each with the ends
        of its 95 % interval, and their number ``n``. Where these answers exclude the estimated
        share, they set it too, and `sentences_` says so.
    similarity_ : Bilinear
        Weighted cosines of the rows of `transform`, for search in any index.
    sentences_ : list of str
        Findings and warnings.

    Examples
    --------
    >>> import pandas as pd
    >>> import likewise as lw
    >>> left = pd.DataFrame({"id": [1, 2], "name": ["Anna Meier", "Bob Smith"]})
    >>> right = pd.DataFrame({"id": ["x", "y"], "name": ["Smith, Bob", "Meier Anna"]})
    >>> lw.Matcher(k=1).fit(left, right).match(left, right).pairs[["left_id", "right_id"]]
       left_id right_id
    0        1        y
    1        2        x
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "fields_": fields.DictOf(fields.Choice(*KINDS), minimum=1),
        "candidates_": fields.Instance(Candidates),
        "fingerprint_": fields.Text(),
        "sentences_": fields.ListOf(fields.Text()),
        "model_": fields.Instance(PairModel, n_fields=lambda file: len(file.values["fields_"])),
        "letters_": fields.DictOf(
            fields.Parts(
                terms=fields.Array(("uint32",), "terms", 3),
                idf=fields.Array(fields.FLOATS, "terms"),
            ),
            keys=lambda file: [*file.values["fields_"], WHOLE],
        ),
        "similarity_": fields.Instance(
            Bilinear,
            n_item_features=lambda file: sum(
                len(field["idf"]) for field in file.values["letters_"].values()
            ),
        ),
        "offset_": fields.Number(minimum=None, whole=False),
        "share_": fields.Number(whole=False, maximum=1),
        "threshold_": fields.Number(minimum=None, whole=False, finite=False),
        "forecast_": fields.Parts(precision=_SHARE, recall=_SHARE, f1=_SHARE),
        "judged_": fields.OrNone(
            fields.Parts(
                n=fields.Number(), precision=_JUDGED, recall=_JUDGED, f1=_JUDGED, share=_JUDGED
            )
        ),
    }

    def __init__(
        self,
        fields: Any = None,
        k: int = 10,
        one_to_one: bool = False,
        threshold: Any = "f1",
        precision: float | None = None,
        link: str = "average",
        learner: str = "auto",
        random_state: int = 0,
    ) -> None:
        self.fields = fields
        self.k = k
        self.one_to_one = one_to_one
        self.threshold = threshold
        self.precision = precision
        self.link = link
        self.learner = learner
        self.random_state = random_state

    def fit(self, left: Any, right: Any = None, pairs: Any = None) -> "Matcher":
        """Learn from labeled pairs, or guess without any.

        Parameters
        ----------
        left : frame
            Its column ``id`` holds the ids; without one, they are row numbers.
        right : frame, optional
            None: find duplicates within `left`.
        pairs : frame or list of tuples, optional
            ``left_id``, ``right_id`` and ``label``, 0 or 1. Rows without a label are left out, and
            those with a true value in a column ``judge`` are never learned from.
        """
        check_parameters(self, one_table=right is None)
        names = common_fields(left, left if right is None else right, self.fields)
        sides = read_sides(left, right, names)
        labels = NO_LABELS if pairs is None else read_labels(pairs, *sides)
        if pairs is not None:
            check_both_kinds(labels.part(~labels.judging))
        self.fields_ = kinds_of(sides[0], sides[1] or sides[0], self.fields)
        self._tables = replace(compare_tables(left, sides, self.fields_, self.k), labels=labels)
        self._last = self._tables
        self._learn()
        return self

    def learn(self, answers: Any) -> "Matcher":
        """Add answers to questions, and learn again.

        Parameters
        ----------
        answers : frame or list of tuples
            As `pairs` of `fit`. Answers to judging questions of `ask` are never learned from.
        """
        tables = self._fitted_tables("learn")
        new = read_labels(answers, *tables.sides, name="answers")
        keys = tables.keys(new.pairs).tolist()
        judging = np.array([tables.asked.get(key, False) for key in keys], dtype=bool)
        asked = np.array([key in tables.asked for key in keys], dtype=bool)
        new = replace(new, judging=new.judging | judging, asked=new.asked | asked)
        self._tables = replace(tables, labels=merge_labels(tables.labels, new))
        self._learn()
        return self

    def ask(self, n: int = 10) -> Any:
        """Return pairs that are worth asking a person about.

        Every fifth question judges: its pair is of a random fifth of the candidates that is
        reserved for this. The others begin with likely and random pairs and go on with the most
        uncertain ones.

        Parameters
        ----------
        n : int, default=10

        Returns
        -------
        frame
            ``left_id``, ``right_id`` and ``judge``, 1 for a judging question.
        """
        tables = self._fitted_tables("ask")
        n = check_whole_number(n, "n")
        keys = tables.keys(tables.candidates)
        labeled = tables.keys(tables.labels.pairs).tolist()
        chosen = choose_questions(
            n,
            len(tables.asked),
            sum(key not in tables.asked for key in labeled),
            np.isin(keys, [*tables.asked, *labeled]),
            self._scores.uncertainty,
            tables.compared.appeal,
            self.random_state,
            guessing=self.model_.is_guess,
        )
        asked = {int(keys[place]): judges for place, judges in chosen}
        self._tables = replace(tables, asked={**tables.asked, **asked})
        places = np.array([place for place, _ in chosen], dtype=np.int64)
        judges = [int(judges) for _, judges in chosen]
        return tables.as_frame({**tables.ids(tables.candidates[places]), "judge": judges})

    def match(self, left: Any, right: Any = None, candidates: Any = None) -> MatchReport:
        """Decide which candidates match, in the tables of `fit` or in others with these fields.

        Parameters
        ----------
        left, right : frames, as in `fit`
        candidates : frame or list of tuples, optional
            ``left_id`` and ``right_id`` of the pairs to compare. By default the `k` nearest.
        """
        tables, model = self._compared(left, right), self.model_
        if candidates is None:
            pairs, scores = tables.candidates, self._scores_of(tables)
            offset = self._offset(tables)
        else:
            pairs = read_pairs(candidates, *tables.sides, name="candidates")[0]
            scores = model.scores(tables, tables.comparison.compare(pairs))
            offset = model.offset(scores)
        p = probability(model.log_odds(scores) + offset)
        decision = self._decide(tables, pairs, p, self._threshold(p))
        own = candidates is None and len(tables.judges) > 0
        return make_report(
            tables,
            pairs,
            p,
            decision,
            self.sentences_[1:],
            field_weights(model, tables),
            self.judged_ if own else None,
            is_checked=own or not model.is_guess,
        )

    def predict_proba(self, left: Any, right: Any, pairs: Any) -> np.ndarray:
        """Return the probability of each pair, calibrated to the share among all candidates.

        Parameters
        ----------
        left, right : frames, as in `fit`
        pairs : frame with ``left_id`` and ``right_id``, or list of tuples
        """
        tables = self._compared(left, right)
        wanted = read_pairs(pairs, *tables.sides)[0]
        return probability(self._log_odds(tables, wanted) + self._offset(tables))

    def explain(self, a: Any, b: Any) -> PairExplanation:
        """Explain the probability of two records, field by field.

        Parameters
        ----------
        a, b : ids of the left and of the right table that were last given
        """
        tables = getattr(self, "_last", None) or self._fitted_tables("explain")
        pair = read_pair(a, b, *tables.sides)
        p = float(probability(self._log_odds(tables, pair) + self._offset(tables))[0])
        return explain_pair(self.model_, tables, pair, p)

    def transform(self, table: Any) -> Any:
        """Return the rows of a table that `similarity_` compares, as a CSR array."""
        self._check_fitted()
        records = read_records(table, list(self.fields_), "table")
        return search_rows(records, self.letters_)

    def save(self, path: Any) -> None:
        """Write the fitted matcher to one file, without the records; see `likewise.save`."""
        from likewise._files import save

        self._check_fitted()
        save(self, path)

    def _learn(self) -> None:
        """Fit to the labels of the tables, or guess while these are not of both kinds."""
        tables, labels = self._tables, self._tables.learned
        self.candidates_, self.fingerprint_ = tables.candidates, tables.fingerprint
        self.sentences_ = [tables.sentence(len(tables.candidates))]
        guess = tables.compared.guess
        if labels.n_matches and labels.n_others:
            self._note_labels(labels)
            settings = self.learner, self.random_state
            self.model_ = learned_model(guess, tables, labels, *settings)
            learned_from = labels.pairs, labels.is_match.astype(float)
        else:
            self.sentences_.append("No labels: this is a guess. 30 answers would improve it.")
            if not len(tables.judges):
                self.sentences_.append(UNCHECKED)
            self.model_ = PairModel(guess)
            learned_from = tables.candidates, guess.probabilities(tables.compared.levels)
        self.similarity_, self.letters_ = search_similarity(tables.comparison, *learned_from)
        self._scores = self.model_.scores(tables, tables.compared)
        self._publish(tables, self.model_)

    def _note_labels(self, labels: Labels) -> None:
        """Note how many labels there are; warn of contradictions and telltale fields."""
        self.sentences_.append(
            f"Learned from {labels.n_matches} matches and {labels.n_others} non-matches"
            f"{': too few to judge' if labels.are_few else ''}."
        )
        if not labels.were_asked:  # answers are candidates by design
            tables = self._tables
            matches = tables.keys(labels.part(labels.is_match).pairs)
            n_found = int(np.isin(matches, tables.keys(tables.candidates)).sum())
            self.sentences_.append(
                f"{n_found} of {len(matches)} labeled matches are among the candidates."
            )
        found = [
            *contradictions(labels, *self._tables.sides),
            *names_the_answer(self._tables.comparison, labels),
        ]
        for sentence in found:
            self.sentences_.append(sentence)
            warn(sentence)

    def _publish(self, tables: ComparedTables, model: PairModel) -> None:
        """Set share, threshold and forecast, and judge the decisions."""
        judges = tables.judges
        log_odds = model.log_odds(self._scores)
        self.offset_ = model.offset(self._scores)
        p = probability(log_odds + self.offset_)
        self.share_ = float(p.mean()) if len(p) else 0.0
        if len(judges) and len(p):
            answers = judged(judges, np.zeros(len(judges), dtype=bool))
            replaced = plausible_share(self.share_, answers)
            if replaced is not None:
                self.share_, sentence = replaced
                self.sentences_.append(sentence)
                self.offset_ = offset_for_share(log_odds, self.share_)
                p = probability(log_odds + self.offset_)
        self.threshold_ = self._threshold(p)
        self.forecast_ = forecast(p, self.threshold_)._asdict()
        self.judged_ = None
        if len(judges):
            decision = self._decide(tables, tables.candidates, p, self.threshold_)
            matched = tables.keys(tables.candidates)[decision.is_match]
            self.judged_ = judged(judges, np.isin(tables.keys(judges.pairs), matched))

    def _offset(self, tables: ComparedTables) -> float:
        """Return the offset of log odds for the candidates of tables."""
        if tables.fingerprint == self.fingerprint_:
            return float(self.offset_)
        return self.model_.offset(self._scores_of(tables))

    def _scores_of(self, tables: ComparedTables) -> PairScores:
        """Return the scores of the candidates of tables; those of `fit` are kept."""
        own = getattr(self, "_tables", None)
        if own is not None and own.fingerprint == tables.fingerprint:
            return self._scores
        return self.model_.scores(tables, tables.compared)

    def _log_odds(self, tables: ComparedTables, pairs: Candidates) -> np.ndarray:
        """Return the log odds of pairs, for the share of matches among the labels."""
        compared = tables.comparison.compare(pairs)
        return self.model_.log_odds(self.model_.scores(tables, compared))

    def _threshold(self, p: np.ndarray) -> float:
        if self.threshold != "f1":
            return float(self.threshold)
        return choose_threshold(p, self.precision)

    def _decide(
        self, tables: ComparedTables, pairs: Candidates, p: np.ndarray, threshold: float
    ) -> Decision:
        n_records = len(tables.comparison.left) if tables.comparison.one_table else None
        return decide(pairs, p, threshold, n_records, unique=self.one_to_one, link=self.link)

    def _compared(self, left: Any, right: Any) -> ComparedTables:
        """Return the comparison of two tables; those of `fit` and the last ones are kept."""
        self._check_fitted()
        check_parameters(self, one_table=right is None)
        sides = read_sides(left, right, list(self.fields_))
        digest = fingerprint(*sides)
        for known in (getattr(self, "_tables", None), getattr(self, "_last", None)):
            if known is not None and known.fingerprint == digest:
                self._last = replace(known, frame=left)
                return self._last
        self._last = compare_tables(left, sides, self.fields_, self.k)
        return self._last

    def _fitted_tables(self, method: str) -> ComparedTables:
        self._check_fitted()
        tables: ComparedTables | None = getattr(self, "_tables", None)
        if tables is None:
            raise ValueError(
                f"{method} needs the tables, which a model file does not hold: call fit first."
            )
        return tables

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError("this Matcher is not fitted yet: call fit(left, right) first.")

"""The names of the public modules, beside those of `public_api`: mypy checks this file.

>>> from pathlib import Path
>>> from types import ModuleType
>>> names = ("public_modules", "public_api", "server_clients")
>>> files = [Path(__file__).with_name(f"{name}.py") for name in names]
>>> text = "".join(file.read_text(encoding="utf8") for file in files)
>>> modules = {name: each for name in dir(lw) if isinstance(each := getattr(lw, name), ModuleType)}
>>> modules |= {"matching": matching, "report": report, "server": server}
>>> [f"{name}.{inside}" for name, module in modules.items()
...  for inside in getattr(module, "__all__", None) or dir(module)
...  if f"{name}.{inside}" not in text
...  and getattr(module, inside) is not getattr(lw, inside, None)]
[]
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import numpy as np

import likewise as lw
from likewise import matching, report, server


def open_data(folder: Path) -> np.ndarray:
    """Load, generate and list data sets."""
    assert_type(lw.datasets.circle(100, random_state=0), lw.datasets.Dataset)
    assert_type(lw.datasets.blobs_and_line(100, n_features=5), lw.datasets.Dataset)
    assert_type(lw.datasets.balance().n_classes, int)
    assert_type(lw.datasets.catalogue("retrieval"), list[lw.datasets.CatalogueRow])
    assert_type(lw.datasets.load_retrieval("scifact"), lw.datasets.Retrieval)
    arrays = lw.datasets.read_arrays(folder / "mine.npz")
    return lw.datasets.dataset_from_arrays("mine", arrays).y


def make_distances(X: np.ndarray) -> list[lw.Similarity]:
    """Make one of every kind."""
    assert_type(lw.distances.names(), list[str])
    assert_type(lw.distances.STRING_METRICS, dict[str, str])
    vectors: tuple[str, ...] = lw.distances.VECTOR_METRICS
    assert "euclidean" in vectors
    assert_type(lw.distances.quantize("euclidean", 3), lw.distances.QuantizedDistance)
    made: list[lw.distances.Distance] = [
        lw.distances.AlignmentDistance(match=2.0, gap=1.0),
        lw.distances.ImageDistance((8, 8), sigma=1.0),
        lw.distances.FuzzyImageDistance(peak=16.0),
        lw.distances.SeriesDistance(window=0.1),
        lw.distances.SeriesDistance(window=5),
        lw.distances.StringDistance("lcs"),
        lw.distances.TransportDistance(),
        lw.distances.VectorDistance("cityblock"),
    ]
    return [*made]


def catch(path: Path) -> list[type[BaseException]]:
    """Name what may be raised, by the classes of Python that it belongs to."""
    values: list[type[ValueError]] = [
        lw.exceptions.ModelFileError,
        lw.exceptions.NotFoldableError,
        lw.exceptions.FormatError,
    ]
    imports: type[ImportError] = lw.exceptions.MissingExtraError
    warning: type[UserWarning] = lw.exceptions.InterruptedWarning
    return [*values, imports, warning]


def export(similarity: lw.Similarity, items: np.ndarray) -> list[Path]:
    """Write items for another engine."""
    left, right = lw.index.balanced_factors(np.eye(3))
    assert_type(left @ right, Any)
    step = lw.index.Step(effort=10, recall=0.9, queries_per_second=100.0)
    assert_type(lw.index.Tuning(0.9, step.recall, step.effort, (step,)).steps[0].recall, float)
    assert_type(lw.index.PGVECTOR_OPERATORS["cosine"].symbol, str)
    assert_type(lw.Index(similarity).snapshot, lw.index.Snapshot)
    names: tuple[str, ...] = lw.index.ENGINE_NAMES + lw.index.FOLDS + lw.index.EXPORTS
    assert_type(names[0], str)
    return lw.index.export(similarity, "folder", "faiss", items=items)


def measure(rows: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Measure seen and new items."""
    assert_type(lw.metrics.ndcg_seen_new(rows, rows, rows, seen, n_queries=3), np.ndarray)
    return lw.metrics.random_order_ndcg(rows, rows, seen, 3, 100, k=5)


def choose(table: lw.tables.Table, triplets: np.ndarray, X: np.ndarray) -> Mapping[str, Any]:
    """Choose a learner of a table, or of triplets."""
    assert_type(lw.selection.family_named("lmnn"), lw.selection.Family)
    assert_type(lw.selection.families_of("regression"), tuple[lw.selection.Family, ...])
    assert_type(lw.selection.default_families("regression"), list[lw.selection.Family])
    assert_type(lw.selection.FAMILIES, tuple[lw.selection.Family, ...])
    assert_type(lw.selection.REGRESSION_FAMILIES, tuple[lw.selection.Family, ...])
    assert_type(lw.selection.SCORINGS["accuracy"], lw.selection.Scoring)
    assert_type(lw.selection.REGRESSION_SCORINGS["r2"].title, str)
    assert_type(lw.selection.TRIPLET_LEARNERS["ridge"], lw.selection.TripletLearner)
    assert_type(lw.selection.check_target(table.labels), np.ndarray)
    found = lw.selection.select_triplets(triplets, X, learners=["ridge"])
    assert_type(found, lw.selection.TripletSelection)
    judged = lw.selection.judge_triplets(lw.Bilinear(1.0), triplets, X)
    assert_type([judged[kind].n for kind in lw.selection.KINDS], list[int])
    assert_type(lw.selection.share_text({"mean": 0.5, "error": 0.1, "queries": 3}), str)
    return dict(lw.selection.replace_nan(found.as_json()))


def supervise(y: np.ndarray, X: np.ndarray, triplets: np.ndarray) -> np.ndarray:
    """Turn what is given into row numbers, and hold some out."""
    supervision = lw.supervision
    stream = supervision.TripletStream(triplets, X, X)
    supervision.check_triplet_rows(stream, X, None)
    assert_type(supervision.check_triplets(triplets, X, X), np.ndarray)
    pairs, similar = supervision.check_pairs([[0, 1]], [1], X, X)
    assert_type((pairs, similar), tuple[np.ndarray, np.ndarray])
    assert_type(supervision.check_weights(None, X), np.ndarray)
    assert_type(supervision.check_sample_weight(None, y), np.ndarray)
    kept, weights = supervision.weighted_rows(None, y)
    assert_type(weights, np.ndarray | None)
    best, scores = supervision.target_neighbors(lw.Mahalanobis(1.0), X, X, y, 3)
    assert_type(supervision.targets_of((best, scores), y, 3), tuple[np.ndarray, np.ndarray])
    assert_type(supervision.check_targets(best, y), np.ndarray)
    supervision.best_of_class(lw.Mahalanobis(1.0), X, X, y, y, 3, own_rows=kept)
    grades, given = supervision.relevance_from_pairs([[0, 1]], [1], None, X, X)
    supervision.check_relevance(grades, X, X)
    assert_type(supervision.weights_at(given, grades), np.ndarray)
    hold_out = supervision.HoldOut.random(
        len(X), len(X), np.random.default_rng(0), n_splits=supervision.N_SPLITS
    )
    assert_type(hold_out.in_training(triplets[:, 0], triplets[:, 1], 0), np.ndarray)
    read, _ = supervision.triplets_of({name: [0] for name in supervision.COLUMNS})
    next(supervision.read_file(Path("triplets.parquet")))
    assert_type([supervision.WEIGHT, read], list[Any])
    return supervision.relevant_items(grades)


def tables(table: lw.tables.Table) -> Path:
    """Look at a table, and write one."""
    assert_type(lw.tables.row_groups(table.rows, ignore=["id"]), np.ndarray)
    assert_type(lw.tables.infer_task(table.labels) in lw.tables.TASKS, bool)
    assert_type(lw.tables.target_values(table.labels, "class"), np.ndarray)
    assert_type(len(lw.tables.as_frame(table.rows)), int)
    assert_type(lw.tables.row_digests(np.eye(3)), np.ndarray)
    lw.tables.write_table(table.rows, "copy.parquet")
    lw.tables.check_source("copy.parquet")
    return lw.tables.check_written("copy.csv")


def match(left: Any, right: Any) -> float:
    """Look at the parts of a matcher."""
    found = lw.Matcher().fit(left, right).match(left, right)
    assert_type(found, matching.MatchReport)
    assert_type(found.reliability, tuple[matching.Reliability, ...])
    report.write_match_report(found, "report.html", left, right, title="people")
    why = lw.Matcher().explain("a", "b")
    assert_type(why, matching.PairExplanation)
    assert_type(why.terms[0], matching.FieldTerm)
    assert_type(matching.Candidates(np.arange(2), np.arange(2)).left, np.ndarray)
    links: tuple[str, ...] = matching.LINKS
    assert_type(links[0], str)
    parts: list[type] = [matching.PairModel, matching.PairLearner, matching.Guess]
    assert len(parts) == 3
    return matching.Calibration(1.0, 0.5, 0.0, 0.1).share


def write(X: np.ndarray) -> str:
    """Write a report."""
    path = report.check_report_path("report.html")
    report.write_report(lw.LMNN(), path, title="wine", X=X, before=None)
    return report.gray_image(X, 0.0, 1.0)


def run(model: Path) -> int:
    """Serve, and ask a server."""
    settings = server.Settings(model, port=0)
    server.create_app(settings)
    server.serve(settings, on_ready=lambda address: None)
    with server.Client("http://127.0.0.1:8000", token="t", timeout=5.0) as client:
        try:
            match = client.search(id="a", k=3).matches[0]
        except server.ServerError as error:
            return error.status
        assert_type(match.score, float)
        assert_type(client.feedback([("a", "b", "c")], key="k", user="u"), int)
        assert_type(client.wait(5.0).applied, int)
        assert_type(client.export("jsonl"), str)
        client.promote(client.models().live)
        client.remove_item("a")
        return client.forget("u") + client.undo("k") + client.rollback(1)


def scale(path: Path) -> list[dict[str, Any]]:
    """Use the record of a run on a cluster."""
    with lw.distributed.run_on(2, checkpoint=path) as running:
        assert_type(running, lw.distributed.ClusterRun)
    return running.finished_rounds

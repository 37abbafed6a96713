"""``likewise fit --dask``: on worker processes of its own, or at an address."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import likewise as lw


def test_comparisons_are_learned_from_on_a_cluster(run, clicks, dask_client):
    given = ("fit", "--queries", "q.npy", "--items", "p.npy", "--triplets", "clicks.parquet",
             "--learner", "aroma", "--splits", "2", "--no-report")  # fmt: skip
    code, _, err = run(*given, "--dask", dask_client.scheduler.address, "-m", "there.safetensors")
    assert code == 0
    assert f"Dask: 2 workers at {dask_client.scheduler.address}" in err
    assert "Dask dashboard: http://" in err
    assert "round 1 of 2" in err
    run(*given, "-m", "here.safetensors")
    Q, P = np.load("q.npy"), np.load("p.npy")
    there, here = (lw.load(f"{name}.safetensors") for name in ("there", "here"))
    assert type(there.estimator) is lw.AROMA
    assert there.estimator.similarity_.score(Q, P).shape == (60, 40)
    assert np.corrcoef(
        there.estimator.similarity_.W.ravel(), here.estimator.similarity_.W.ravel()
    )[0, 1] > 0.9  # fmt: skip


def test_a_learner_of_comparisons_that_no_cluster_can_help_is_refused(run, clicks):
    given = ("fit", "--queries", "q.npy", "--items", "p.npy", "--triplets", "clicks.parquet")
    code, _, err = run(*given, "--learner", "ridge", "--dask", "local:2")
    assert code == 2
    assert "--dask is for the learners aroma, oasis of comparisons" in err
    assert "Dask:" not in err


def test_labels_are_learned_from_on_processes_of_its_own(run, flowers, monkeypatch):
    lmnn = next(family for family in lw.selection.FAMILIES if family.name == "lmnn")
    one = replace(lmnn, grid=({**lmnn.grid[0], "tol": 0.1},))  # few steps: each asks the cluster
    monkeypatch.setattr("likewise.cli._compare.chosen_families", lambda names, task: [one])
    code, out, err = run("fit", flowers / "flowers.csv", "-t", "species", "--learner", "lmnn",
                         "--budget", "1s", "--splits", "2", "--dask", "local:1", "--no-report",
                         "--json", "-m", "m.safetensors")  # fmt: skip
    assert (code, err) == (0, "")
    assert json.loads(out)["chosen"] == "lmnn"
    model = lw.load("m.safetensors")
    assert type(model.estimator.learner) is lw.LMNN
    held_out = pd.read_csv(flowers / "held_out.csv")
    assert (model.predict(held_out.drop(columns="species")) == held_out["species"]).mean() > 0.8


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--dask", "local:0"), "--dask must be the address of a scheduler"),
        (("--dask", "8786"), "--dask must be the address of a scheduler"),
        (("--resume",), "--resume continues"),
    ],
)
def test_wrong_use_is_said_in_a_sentence(run, clicks, options, sentence):
    code, _, err = run("fit", "--items", "p.npy", "--triplets", "clicks.parquet", *options)
    assert code == 2
    assert sentence in err


def test_a_learner_that_no_cluster_can_help_is_refused_before_one_is_started(run, flowers):
    given = ("fit", flowers / "flowers.csv", "-t", "species", "--learner", "sila")
    code, _, err = run(*given, "--dask", "local:2")
    assert code == 2
    assert "--dask is for the learners lmnn, aroma, oasis" in err
    assert "Dask:" not in err

"""`likewise match --ask` in a real terminal."""

import pandas as pd
from tests.cli.terminal import likewise
from tests.matching.people import people


def test_answers_are_typed_undone_and_kept(tmp_path):
    left, right, _ = people()
    left.to_csv(tmp_path / "left.csv", index=False)
    right.to_csv(tmp_path / "right.csv", index=False)
    ended = likewise(
        "match", "left.csv", "right.csv", "--ask", "6",
        folder=tmp_path, typed="y\nx\nu\nn\ns\ny\nn\nq\n",
    )  # fmt: skip
    assert ended.code == 0, ended.text
    assert "1 of 6" in ended.text
    assert "the same? y(es), n(o), s(kip), u(ndo), q(uit):" in ended.text
    assert "answers: answers.csv" in ended.text
    answers = pd.read_csv(tmp_path / "answers.csv")
    assert list(answers["label"]) == [0, 1, 0]  # the first yes was undone, the second skipped
    assert (tmp_path / "matches.csv").exists()

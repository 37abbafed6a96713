"""The report on matched records shows what was decided, and how much to trust it."""

import pandas as pd
import pytest
from tests.matching.people import people

import likewise as lw
from likewise.report import write_match_report
from likewise.report._matches import _marked

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def asked():
    """Return two tables, and a matcher that was taught by 40 answers."""
    left, right, pairs = people(30)
    left.loc[0, "town"] = HOSTILE
    matcher = lw.Matcher(fields=["name", "street", "town"], k=4).fit(left, right)
    questions = matcher.ask(40)
    ids = zip(questions["left_id"], questions["right_id"], strict=True)
    return left, right, matcher.learn(questions.assign(label=[p in set(pairs) for p in ids]))


def written(tmp_path, report, *tables, **options):
    path = tmp_path / "report.html"
    write_match_report(report, path, *tables, title="people", **options)
    return path.read_text(encoding="utf8")


def test_judged_figures_stand_beside_the_forecast(tmp_path, asked):
    left, right, matcher = asked
    report = matcher.match(left, right)
    page = written(tmp_path, report, left, right)
    assert "8 answers that were drawn at random" in page
    assert f'<td class="number">{report.forecast["f1"]:.3f}</td>' in page
    low, high = report.judged["precision"][1:]
    assert f"{low:.3f} to {high:.3f}" in page
    assert sum(part.n for part in report.reliability) == 8
    assert "Share of matches among the judging answers" in page
    assert "Columns that were not compared: born." in page
    assert page.count('<article class="example">') == 20
    assert "The clusters" not in page
    assert HOSTILE not in page


def test_the_same_matches_are_the_same_bytes(tmp_path, asked):
    left, right, matcher = asked
    pages = [written(tmp_path, matcher.match(left, right), left, right) for _ in range(2)]
    assert pages[0] == pages[1]


def test_reliability_is_that_of_the_judging_answers_alone(asked):
    left, right, matcher = asked
    report = matcher.match(left, right)
    assert report.judged == matcher.judged_
    other = matcher.match(left, right, candidates=[("a0", "b0")])
    assert other.judged is None
    assert other.reliability == ()


def test_a_guess_says_so_and_clusters_have_their_records(tmp_path):
    left, right, _ = people(20)
    table = pd.concat([left, right], ignore_index=True)
    report = lw.Matcher(k=4).fit(table).match(table)
    page = written(tmp_path, report, table, model_path="my matcher.safetensors")
    assert "this is a guess" in page
    assert "This forecast is not checked by any label and can be far too high." in page
    assert "No answers judge it" in page
    assert "The least coherent clusters" in page
    assert page.count("<h3>Cluster ") == 5
    assert "&#39;my matcher.safetensors&#39;" in page
    with pytest.raises(ValueError, match="right must be None: report matches the records of one"):
        written(tmp_path, report, table, table)


def test_words_of_one_side_alone_are_marked():
    left, right = _marked("Sony PS-LX (USB) , turntable", "sony PSLX turntable black")
    assert [word for word, differs in left if differs] == ["(USB)"]
    assert [word for word, differs in right if differs] == ["black"]
    assert _marked("red", None) == [[("red", False)], None]
    assert _marked(None, "") == [None, None]


def test_only_a_report_of_matches_is_taken(tmp_path, asked):
    with pytest.raises(TypeError, match="report must be a MatchReport, but Matcher was given"):
        written(tmp_path, asked[2], *asked[:2])

"""Progress when it is asked for, and interruption by Ctrl-C that keeps partial results."""

import os
import re
import select
import signal
import subprocess
import sys
import threading
import warnings

import pytest

import likewise as lw
from likewise import _progress
from likewise._progress import LongWork, show_progress
from likewise.exceptions import InterruptedWarning

pty = pytest.importorskip("pty", reason="needs the terminals and signals of Unix")


@pytest.fixture(autouse=True)
def _usual_handler():
    """Ctrl-C does what it does in a program, whatever the test runner makes of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def every_line(monkeypatch):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_LINES", 0.0)


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def do(work, steps, *, pressing_at=()):
    """Do the steps; press Ctrl-C after some of them."""
    for step in range(steps):
        if work.interrupted:
            return
        work.advance()
        if step in pressing_at:
            press_ctrl_c()


def test_without_being_asked_nothing_is_shown(capfd, every_line, monkeypatch):
    monkeypatch.setattr(_progress, "_open_bar", None)  # would fail if it were called
    with LongWork("adding", total=3) as work:
        do(work, 3)
    with show_progress(False), LongWork("adding", total=3) as work:
        do(work, 3)
    assert capfd.readouterr() == ("", "")


def test_lines_for_a_log_tell_the_rate_and_the_time_left(capfd, every_line):
    with show_progress(), LongWork("adding", total=2, unit="numbers") as work:
        do(work, 2)
    out, err = capfd.readouterr()
    assert out == ""
    number = r"[\d.e+]+"
    first, second = err.splitlines()
    assert re.fullmatch(rf"adding: 1/2 numbers, {number} numbers/s, \d+ s left", first)
    assert re.fullmatch(rf"adding: 2/2 numbers, {number} numbers/s", second)


def test_lines_come_only_every_few_seconds_and_at_the_end(capfd):
    with show_progress(), LongWork("adding", total=50) as work:
        do(work, 50)
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_work_of_unknown_length_has_no_time_left(capfd, every_line):
    with show_progress(), LongWork("adding") as work:
        do(work, 2)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all("left" not in line and "/2" not in line for line in lines)


def test_only_the_outermost_work_has_a_bar(capfd, every_line):
    with show_progress(), LongWork("outer", total=1) as outer:
        with LongWork("inner", total=5) as inner:
            do(inner, 5)
        outer.advance()
    assert capfd.readouterr().err.startswith("outer: 1/1")


def test_a_false_inside_a_true_keeps_the_bar_and_a_true_ends_with_its_block(capfd, every_line):
    with show_progress(True), show_progress(False), LongWork("inside") as work:
        do(work, 1)
    assert "inside" in capfd.readouterr().err
    with LongWork("after") as work:
        do(work, 1)
    assert capfd.readouterr().err == ""


def test_a_search_shows_its_progress(capfd):
    with show_progress():
        lw.Mahalanobis(1.0).neighbors([[1.0]], [[1.0]], 1)
    assert re.match(r"searching neighbors: 1/1 blocks", capfd.readouterr().err)


IN_A_TERMINAL = """
from likewise._progress import LongWork, show_progress
with show_progress(), LongWork("adding", total=3, unit="numbers") as work:
    for _ in range(3):
        work.advance()
"""


def output_in_a_terminal(program):
    """Run a program with a pseudo-terminal for its errors; return what it wrote there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 30)[0]:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # how Linux says that nobody writes any more
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    out = process.communicate(timeout=30)[0]
    assert process.returncode == 0
    assert out == b""
    return shown.decode()


def test_a_terminal_gets_a_bar():
    shown = output_in_a_terminal(IN_A_TERMINAL)
    assert "adding" in shown
    assert "3/3" in shown
    assert "numbers/s" in shown
    assert "\x1b[" in shown  # drawn in place
    assert "━" in shown


def test_a_terminal_without_rich_gets_lines():
    shown = output_in_a_terminal("import sys; sys.modules['rich'] = None" + IN_A_TERMINAL)
    assert re.fullmatch(r"adding: 3/3 numbers, [\d.e+]+ numbers/s\r\n", shown)


def test_ctrl_c_ends_work_that_keeps_something_with_one_warning():
    with (
        pytest.warns(InterruptedWarning) as warned,
        LongWork("adding", total=9, unit="numbers", partial_result="the sum so far") as work,
    ):
        do(work, 9, pressing_at=[3])
    assert work.interrupted
    message = "adding was interrupted after 4 of 9 numbers; kept: the sum so far"
    assert [str(w.message) for w in warned] == [message]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_work_that_is_not_interrupted_warns_of_nothing_and_gives_the_handler_back():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with LongWork("adding", partial_result="the sum") as work:
            do(work, 3)
    assert not work.interrupted
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_stops_at_once():
    def press_twice():
        with LongWork("adding", partial_result="the sum") as work:
            press_ctrl_c()
            assert work.interrupted
            press_ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        press_twice()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_work_that_keeps_nothing_is_stopped_as_always():
    def press():
        with LongWork("adding") as work:
            do(work, 3, pressing_at=[1])

    with pytest.raises(KeyboardInterrupt):
        press()


def test_an_error_gives_the_handler_back_and_ends_the_nesting(capfd, every_line):
    def fail():
        with LongWork("failing", partial_result="nothing"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with show_progress(), LongWork("after") as work:
        do(work, 1)
    assert "after: 1" in capfd.readouterr().err


def compare(**options):
    """Do work inside work until it is interrupted; return the outer one."""
    with LongWork("comparing", total=5, unit="folds", **options) as outer:
        for _ in range(5):
            if outer.interrupted:
                break
            with LongWork("fitting", unit="rounds", partial_result="the rounds so far") as inner:
                do(inner, 5, pressing_at=[2])
            outer.advance()
    return outer


def test_an_interrupted_inner_work_marks_the_outer():
    with pytest.warns(InterruptedWarning) as warned:
        outer = compare(partial_result="the finished folds")
    assert outer.done == 1
    assert [str(w.message).split(" was")[0] for w in warned] == ["fitting", "comparing"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_outer_work_that_keeps_nothing_does_not_claim_to():
    with pytest.warns(InterruptedWarning) as warned:
        outer = compare()
    assert outer.done == 1
    assert [str(w.message).split(" was")[0] for w in warned] == ["fitting"]


def test_work_in_another_thread_leaves_the_handler_alone():
    seen = []

    def run():
        with LongWork("adding", total=3, partial_result="the sum") as work:
            seen.append(signal.getsignal(signal.SIGINT))
            do(work, 3)
        seen.append(work.done)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler, 3]

"""Compilation: what the demo needs, what is compiled ahead, what the cache keeps, what is timed."""

import ctypes
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread, Timer, active_count
from time import sleep

import pytest
from numba.core import event

import likewise
from likewise import kernels
from likewise._compilation import BackgroundCompilation, clock, compile_kernels, thread_clock
from likewise._progress import LongWork, show_progress
from likewise.kernels import _jit
from likewise.kernels._signatures import signature_of
from likewise.selection import FAMILIES

SOURCE = Path(likewise.__file__).parent.parent
NAMES = [name for name in dir(kernels) if name.islower() and not name.startswith("comp")]


def run(code, **variables):
    """Run code in a new process and return what it prints, as JSON."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **variables}
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def test_every_kernel_can_be_compiled_ahead():
    assert {name.partition(":")[0] for name in kernels.SIGNATURES} == set(NAMES)


@pytest.mark.parametrize("name", kernels.SIGNATURES)
def test_a_signature_has_the_number_of_arguments_of_its_kernel(name):
    function = getattr(kernels, name.partition(":")[0]).py_func
    assert len(signature_of(name)) == function.__code__.co_argcount


def test_kernels_call_only_helpers_of_their_own_file():
    """A cached kernel is compiled again when its own file changes, and no other."""
    for path in sorted(Path(kernels.__file__).parent.glob("_*.py")):
        lines = path.read_text(encoding="utf8").splitlines()
        imported = [line for line in lines if line.startswith("from likewise.kernels")]
        assert all("likewise.kernels._jit import" in line for line in imported), path.name


DEMO = """
import json, sys
from likewise.cli import main
for arguments in (
    ["fit", "wine", "--budget", "600s", "--splits", "4", "-m", "{0}/m", "--report", "{0}/r.html"],
    ["search", "{0}/m", "--items", "wine", "--query", "row 17", "-k", "5"],
    ["explain", "{0}/m", "--items", "wine", "17", "42", "--top", "5"],
):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments
from likewise import kernels
loaded = {{name: value for name, value in vars(kernels).items() if hasattr(value, "overloads")}}
print(json.dumps({{name: [str(types) for types in kernel.overloads]
                  for name, kernel in loaded.items()}}))
"""


def test_the_demo_compiles_few_kernels_and_those_of_a_comparison_ahead(tmp_path):
    used = run(DEMO.format(tmp_path))
    ahead = {name for family in FAMILIES for name in family.kernels}
    assert ahead <= set(used)
    assert {name: used[name] for name in ahead} == {
        name: [str(signature_of(name))] for name in ahead
    }
    assert set(used) - ahead == set()
    assert sum(len(signatures) for signatures in used.values()) <= 17


AHEAD = "import json; from likewise.kernels import compile_ahead as ahead; print(json.dumps({}))"


def test_the_cache_survives_copying_the_package(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE / "likewise", first / "likewise", ignore=ignored)
    compiled = AHEAD.format("ahead('edge_distances')")
    assert run(compiled, PYTHONPATH=str(first), NUMBA_CACHE_DIR="") is True
    # without the times of the files
    shutil.copytree(first / "likewise", second / "likewise", copy_function=shutil.copyfile)
    assert run(compiled, PYTHONPATH=str(second), NUMBA_CACHE_DIR="") is False


def _compilation():
    return event.Event("numba:compile", event.EventStatus.START)


def test_the_compilation_of_a_helper_is_a_part_of_that_of_its_kernel(monkeypatch):
    times = iter([10.0, 11.0, 12.0, 14.0])
    monkeypatch.setattr(_jit, "monotonic", lambda: next(times))
    counted, kernel, helper = _jit._Compilations(), _compilation(), _compilation()
    counted.on_start(kernel)
    counted.on_start(helper)
    counted.on_end(helper)
    counted.on_end(kernel)
    assert counted.seconds() == counted.seconds_of_thread() == 4.0


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_pauses_during_compilation(enabled):
    was_enabled = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        listener = _jit._Compilations()
        outer, inner = _compilation(), _compilation()
        listener.on_start(outer)
        listener.on_start(inner)
        listener.on_end(inner)
        assert not gc.isenabled()
        listener.on_end(outer)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


@pytest.fixture
def compiler(monkeypatch):
    """Record the names of kernels instead of compiling them; those with an x are in the cache."""
    names = []

    def compile_ahead(name):
        names.append(name)
        return not name.startswith("x")

    monkeypatch.setattr(kernels, "compile_ahead", compile_ahead, raising=False)
    return names


def test_compilation_is_shown_with_its_number_of_kernels(compiler, capsys):
    with show_progress():
        assert compile_kernels(["xa", "b", "c", "b"]) == 2
    assert compiler == ["xa", "b", "c"]
    assert capsys.readouterr().err.startswith("compiling, once: 3/3 kernels")


def test_nothing_is_shown_if_all_kernels_are_in_the_cache(compiler, capsys):
    with show_progress():
        assert compile_kernels(["xa", "xb"]) == 0
    assert capsys.readouterr().err == ""


def test_compilation_in_the_background_ends_with_its_block(monkeypatch):
    started, goes_on, names = Event(), Event(), []

    def compile_ahead(name):
        names.append(name)
        started.set()
        return goes_on.wait(60)

    monkeypatch.setattr(kernels, "compile_ahead", compile_ahead, raising=False)
    n_threads = active_count()
    with BackgroundCompilation(["a", "b"]):
        assert started.wait(60)
        Timer(0.2, goes_on.set).start()
    assert active_count() == n_threads
    assert names == ["a"]


def test_a_block_can_wait_for_compilation_in_the_background(compiler, capsys, monkeypatch):
    monkeypatch.setattr("likewise._progress._SECONDS_BETWEEN_LINES", 0.0)
    first_is_shown = Event()

    def compile_ahead(name):
        compiler.append(name)
        return name == "a" or first_is_shown.wait(60)

    monkeypatch.setattr(kernels, "compile_ahead", compile_ahead, raising=False)
    join = Thread.join
    monkeypatch.setattr(Thread, "join", lambda *a: (first_is_shown.set(), join(*a)))
    with (
        show_progress(),
        LongWork("comparing", unit="fits") as work,
        BackgroundCompilation("aba") as found,
    ):
        while not found._n_done:
            sleep(0.01)
        found.wait(work)
        assert compiler == ["a", "b"]
        assert work.label == "comparing"
    assert capsys.readouterr().err.startswith("compiling, once: 1/2 kernels: 0 fits")


def test_waiting_for_compilation_can_be_interrupted(monkeypatch):
    goes_on = Event()
    monkeypatch.setattr(kernels, "compile_ahead", lambda name: goes_on.wait(60), raising=False)
    with LongWork("comparing") as work, BackgroundCompilation(["a"]) as found:
        work.interrupted = True
        found.wait(work)
        assert found._thread.is_alive()
        goes_on.set()
        work.interrupted = False


def test_the_common_clock_and_that_of_the_compiling_thread_stand_still(monkeypatch):
    now, listener = [10.0], _jit._Compilations()
    monkeypatch.setattr(_jit, "_COMPILATIONS", listener)
    monkeypatch.setattr(_jit, "monotonic", lambda: now[0])
    monkeypatch.setattr("likewise._compilation.monotonic", lambda: now[0])
    given, started, goes_on, seen = _compilation(), Event(), Event(), []

    def compile_in_thread():
        listener.on_start(given)
        started.set()
        goes_on.wait(60)
        seen.append(thread_clock())
        listener.on_end(given)

    thread = Thread(target=compile_in_thread)
    thread.start()
    assert started.wait(60)
    now[0] = 13.0
    assert (clock(), thread_clock()) == (10.0, 13.0)
    goes_on.set()
    thread.join()
    assert seen == [10.0]
    now[0] = 15.0
    assert (clock(), thread_clock()) == (12.0, 15.0)


def test_ctrl_c_is_not_lost_in_a_callback_of_the_compiler(monkeypatch):
    """An exception in a callback from C is only printed; LLVM calls back to read the cache."""
    loaded = []

    def load(name):
        press = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))
        press()
        loaded.append(name)
        return False

    monkeypatch.setattr(kernels, "compile_ahead", load, raising=False)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            compile_kernels(["first", "second"])
    finally:
        signal.signal(signal.SIGINT, before)
    assert loaded == ["first"]

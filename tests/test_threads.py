"""Blocks shared among threads."""

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import files

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from likewise import _threads
from likewise._threads import ScratchArray, for_each, limit_threads


def blas_threads():
    """Of the library with most: some are built for one thread and stay at it."""
    return {max(library["num_threads"] for library in _threads._blas().info())}


def test_every_item_is_worked_on_once(two_threads):
    done, finished = [], []
    for_each(done.append, range(100), on_done=lambda: finished.append(threading.get_ident()))
    assert sorted(done) == list(range(100))
    assert finished == [threading.get_ident()] * 100


def test_items_are_shared_among_as_many_threads_as_blas_would_use(two_threads):
    """Both must be inside at once to pass: with one thread this would break the barrier."""
    barrier = threading.Barrier(2, timeout=20)
    for_each(lambda _: barrier.wait(), range(2))


@pytest.mark.parametrize("limit", [1, 2])
def test_a_serial_call_stays_in_the_calling_thread(limit):
    seen = set()
    with threadpool_limits(limit, user_api="blas"):
        for_each(lambda _: seen.add(threading.get_ident()), range(9), parallel=limit == 1)
    assert seen == {threading.get_ident()}


def test_inside_blas_has_one_thread_and_afterwards_as_many_as_before(two_threads):
    seen = []
    for_each(lambda _: seen.append(blas_threads()), range(3))
    assert seen == [{1}] * 3
    assert blas_threads() == {2}


@pytest.mark.parametrize("parallel", [True, False])
def test_a_call_inside_a_call_starts_no_threads(two_threads, parallel):
    seen = []

    def outer(_):
        own = threading.get_ident()
        for_each(lambda _: seen.append(threading.get_ident() == own), range(3))

    for_each(outer, range(4), parallel=parallel)
    assert seen == [True] * 12
    assert blas_threads() == {2}


def test_a_call_inside_a_call_starts_no_threads_whatever_blas_says(monkeypatch):
    """With MKL the limit of the calling thread does not show in the others."""

    class Unlimited:
        lib_controllers = ()

        def info(self):
            return [{"num_threads": 2}]

        def limit(self, limits):
            return self

        def restore_original_limits(self):
            pass

    monkeypatch.setattr(_threads, "_blas", Unlimited)
    seen = []

    def outer(_):
        own = threading.get_ident()
        for_each(lambda _: seen.append(threading.get_ident() == own), range(3))

    for_each(outer, range(4))
    assert seen == [True] * 12


def in_a_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.parametrize("parallel", [True, False])
def test_a_call_from_any_thread_holds_blas_to_one(two_threads, parallel):
    """Such as a server's: threadpoolctl by itself heeds only the first thread that asks."""
    seen = []

    def look(_):
        seen.append(blas_threads())

    in_a_thread(lambda: for_each(look, range(3), parallel=parallel))
    assert seen == [{1}] * 3
    assert blas_threads() == {2}


@pytest.mark.parametrize("first_to_end", ["main", "other"])
def test_calls_that_overlap_leave_blas_as_it_was(two_threads, first_to_end):
    """Whoever ends first must not take the limit from the other, nor the last one leave it."""
    inside, leave = threading.Event(), threading.Event()
    seen = []

    def wait(_):
        inside.set()
        assert leave.wait(20)
        seen.append(blas_threads())

    other = threading.Thread(target=for_each, args=(wait, [0]))

    def overlap(_):
        other.start()
        assert inside.wait(20)
        if first_to_end == "other":
            leave.set()
            other.join(20)
            seen.append(blas_threads())

    for_each(overlap, [0], parallel=False)
    leave.set()
    other.join(20)
    assert seen == [{1}] * (2 if first_to_end == "other" else 1)
    assert blas_threads() == {2}


def test_no_limit_is_set_where_blas_has_one_thread(monkeypatch):
    monkeypatch.setattr("threadpoolctl.ThreadpoolController.limit", pytest.fail)
    done = []
    with threadpool_limits(1, user_api="blas"):
        for_each(done.append, [0])
    assert done == [0]


def test_a_limit_is_kept_inside_its_block_only(two_threads):
    seen = set()
    with limit_threads(1):
        for_each(lambda _: seen.add(threading.get_ident()), range(9))
    assert seen == {threading.get_ident()}
    with limit_threads(None):
        barrier = threading.Barrier(2, timeout=20)
        for_each(lambda _: barrier.wait(), range(2))


def test_a_negative_limit_counts_from_all_cores(two_threads, monkeypatch):
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: max(1, 3 + n_jobs))
    with limit_threads(-1):
        barrier = threading.Barrier(2, timeout=20)
        for_each(lambda _: barrier.wait(), range(2))
    seen = set()
    with limit_threads(-2):
        for_each(lambda _: seen.add(threading.get_ident()), range(9))
    assert seen == {threading.get_ident()}


@pytest.mark.parametrize("parallel", [True, False])
def test_an_error_comes_out_and_blas_is_as_it_was(two_threads, parallel):
    def fail(item):
        raise ZeroDivisionError(item)

    with pytest.raises(ZeroDivisionError):
        for_each(fail, range(50), parallel=parallel)
    assert blas_threads() == {2}


def test_nothing_to_do_is_done(two_threads):
    for_each(pytest.fail, [])


def test_a_scratch_array_is_reused_and_private_to_its_thread():
    scratch = ScratchArray()
    whole = scratch.get((4, 5), np.float32)
    assert np.shares_memory(whole, scratch.get((2, 3), np.float32))
    assert scratch.get((2, 3), np.float32).flags.c_contiguous
    assert scratch.get((6, 5), np.float32).shape == (6, 5)
    assert scratch.get((2, 2), np.float64).dtype == np.float64
    here = scratch.get((2, 2), np.float64)
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(scratch.get, (2, 2), np.float64).result()
    assert not np.shares_memory(here, there)


def test_overlapping_calls_limit_libraries_built_with_openmp():
    """Their limit applies to one thread only, so the second caller must set it too."""
    pytest.importorskip("faiss", reason="faiss brings a BLAS that is built with OpenMP")
    if not any("libopenblas" in file.name for file in files("faiss-cpu") or ()):
        pytest.skip("the BLAS of this faiss is linked into it, out of reach of threadpoolctl")
    program = textwrap.dedent(
        """
        import threading
        import faiss
        from likewise import _threads

        seen = []

        def outer(_):
            def inner(_):
                seen.extend(library["num_threads"] for library in _threads._blas().info())

            other = threading.Thread(target=_threads.for_each, args=(inner, [0]))
            other.start()
            other.join()

        assert len(_threads._per_thread_blas().info()) == 1
        _threads.for_each(outer, [0])
        assert set(seen) == {1}, seen
        """
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}  # with one there is nothing to limit
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)

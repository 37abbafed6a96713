"""``likewise warmup``: compile ahead, so that no later command waits for the compiler."""

from likewise.cli._console import Console, with_console


@with_console
def command(console: Console) -> None:
    """Compile all kernels into numba's cache, for instance while a container image is built."""
    from time import monotonic

    from likewise import kernels
    from likewise._compilation import compile_kernels
    from likewise._progress import show_progress

    started = monotonic()
    with show_progress(not console.quiet):
        n_compiled = compile_kernels(kernels.SIGNATURES)
    seconds, n_kernels = monotonic() - started, len(kernels.SIGNATURES)
    console.result(
        {"kernels": n_kernels, "compiled": n_compiled, "seconds": seconds},
        f"{n_kernels} kernels, {n_compiled} of them compiled now, in {seconds:.0f} s",
    )

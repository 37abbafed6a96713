"""Speed, memory and quality beside the peers and the floor, measured interleaved in one run.

A benchmark is a module here. Its top level imports only the standard library and NumPy, because the
same module also runs inside the peers' environments; it defines

``CASES``
    A list of dicts, the sizes to run at. ``threads`` in a case sets the threads of BLAS and OpenMP.
``data(case)``
    The arrays, seeded.
``CONTENDERS``
    `Contender`s: a name, and a function from (case, data) to what is timed, a call without
    arguments. One of them is ``likewise``; one may be a ``floor``, the least that any
    implementation must do.
``quality(case, data, result)``
    A dict of figures, so that faster-and-worse is visible.

A simulation has no contenders: its module defines ``main(folder)``, which prints a table and writes
it to ``folder``.
"""

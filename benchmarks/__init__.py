"""Speed, memory and quality beside other libraries and a lower bound, interleaved in one run.

A benchmark is a module here. Its top level imports only the standard library and NumPy, because the
same module also runs inside the environments of other libraries; it defines

``CASES``
    A list of dicts, the sizes to run at. ``threads`` in a case sets the threads of BLAS and OpenMP.
``data(case)``
    The arrays, seeded.
``CONTENDERS``
    `Contender`s: a name, and a function from (case, data) to the timed call, which has no
    arguments. One of them is ``likewise``; one may be a ``floor``, the minimum work of any
    implementation.
``quality(case, data, result)``
    A dict of figures, so that faster-and-worse is visible.

A simulation has no contenders: its module defines ``main(folder)``, which prints a table and writes
it to ``folder``.
"""

"""The tables and figures of the papers beside ours, one module per paper.

``python -m reproduce NAME`` runs one and writes its table, its figures and its rows as
JSON. A module defines ``PAPER``, ``rows()`` and ``figures(rows)``; see `reproduce._frame`.
"""

from reproduce._frame import Row, known, reproduce, table

__all__ = ["Row", "known", "reproduce", "table"]

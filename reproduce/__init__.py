"""The papers' tables and figures beside ours: a module a paper.

``python -m reproduce NAME`` runs one and writes its table, its figures and its rows as
JSON. A module defines ``PAPER``, ``rows()`` and ``figures(rows)``; see `reproduce._frame`.
"""

from reproduce._frame import Row, known, reproduce, table

__all__ = ["Row", "known", "reproduce", "table"]

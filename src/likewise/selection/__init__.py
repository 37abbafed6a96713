"""Which similarity suits this table? Learners beside baselines and outsiders, nested, in time."""

from likewise.selection._families import FAMILIES, Family, family_named
from likewise.selection._select import Selection, select

__all__ = ["FAMILIES", "Family", "Selection", "family_named", "select"]

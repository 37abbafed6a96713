"""Validation on held-out queries and items, and the gate that decides about publication."""

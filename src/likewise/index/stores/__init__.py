"""Stores of an index: in memory, or a table of PostgreSQL."""

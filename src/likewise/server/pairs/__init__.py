"""The Teach page for pairs of records: whether they are the same."""

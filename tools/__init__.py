"""Maintenance of the repository: commands that the Makefile calls, not shipped to users."""

"""The explorer: pages and what they show."""

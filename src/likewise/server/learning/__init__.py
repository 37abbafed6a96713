"""Learning from feedback in a separate process."""

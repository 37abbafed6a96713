"""Learning from feedback in a process of its own."""

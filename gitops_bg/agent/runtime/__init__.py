"""What keeps the agent running: timers, the queue, leadership, backoff, the boundaries for bugs."""

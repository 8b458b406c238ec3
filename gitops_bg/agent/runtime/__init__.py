"""What keeps the agent running: the queue and its workers, timers, leadership, what becomes of failures."""

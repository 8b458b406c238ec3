"""What keeps the agent going: timers, the queue, leadership, backoff, where a bug stops."""

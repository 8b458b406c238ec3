"""What people and tools are shown: phase, conditions, counts, waits, the history of rollouts, new events."""

"""What people and tools are told: phase, conditions, counts, waits, the book of rollouts, the ledger's news."""

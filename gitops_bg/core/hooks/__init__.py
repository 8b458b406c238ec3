"""Hooks and manual gates: what is asked and told, what was answered, what follows (flagger.md §3.4)."""

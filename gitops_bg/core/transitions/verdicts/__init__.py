"""Steps that run analyses and hooks, read their answers, and act on them."""

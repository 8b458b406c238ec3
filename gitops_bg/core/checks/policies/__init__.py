"""How promotion policies are judged: pure functions from rules and facts to verdicts."""

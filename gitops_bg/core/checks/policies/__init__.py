"""Judges promotion policies: pure functions from rules and facts to verdicts."""

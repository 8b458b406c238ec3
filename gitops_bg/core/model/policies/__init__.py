"""Promotion policies: what they say (`rules`), what they are judged by, and the verdicts (`facts`)."""

"""Promotion policies: their `rules`, the `facts` that they are judged by, and the verdicts."""

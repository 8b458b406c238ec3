"""Policies: what they stop, what they never stop, and what they are judged by."""

"""Verbs that only read, and how they explain, plan and report."""

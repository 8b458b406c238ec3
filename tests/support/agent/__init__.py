"""Agents that run in the test's process, in one of their own, and until they are killed."""

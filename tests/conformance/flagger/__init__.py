"""Scenarios of Flagger."""

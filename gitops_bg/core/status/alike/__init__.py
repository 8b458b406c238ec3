"""Conditions that apps and release groups have alike."""

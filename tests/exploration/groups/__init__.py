"""Exploration of release groups: the same search over another world (`tests.exploration`)."""

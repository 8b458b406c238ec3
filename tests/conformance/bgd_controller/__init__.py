"""Scenarios and limitations of bgd-controller."""

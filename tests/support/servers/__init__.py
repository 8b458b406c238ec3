"""Servers that an agent calls."""

"""Carries out what the core decided, and remembers what the server made of it."""

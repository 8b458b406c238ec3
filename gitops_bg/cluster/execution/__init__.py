"""Carries out what the core decided, and remembers how the server normalised it."""

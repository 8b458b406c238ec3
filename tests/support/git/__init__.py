"""A Git remote and its users."""

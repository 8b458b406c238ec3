"""Pages of what a release has, and of what it works with."""

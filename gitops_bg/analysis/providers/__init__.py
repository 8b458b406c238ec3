"""The providers: one file for each backend, and their common parts."""

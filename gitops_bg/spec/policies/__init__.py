"""Promotion policies as users write them (``policies/``): schemas, loading, errors with file and line."""

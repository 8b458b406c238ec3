"""Pods of versions: how many there are to be, which are available, what keeps them from it."""

"""Verbs that write files into a work tree: each as a whole or not at all. None of them commits."""

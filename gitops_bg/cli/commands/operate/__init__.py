"""Verbs that decide something, in Git or in the cluster."""

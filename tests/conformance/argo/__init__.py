"""Scenarios of Argo Rollouts."""

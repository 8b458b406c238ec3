"""Kubernetes: the watch cache, observation, and carrying out actions."""

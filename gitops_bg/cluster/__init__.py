"""Kubernetes: watch caches, observation, carrying out actions (DESIGN §6). `cluster.Cluster` is one, with its parts.

It contains no rule about rollouts: what to do comes in as `core.model.actions`, what exists goes out as
`core.model.observed`.
"""

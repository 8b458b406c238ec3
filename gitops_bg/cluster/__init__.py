"""Kubernetes: watch cache, observation, carrying out actions (DESIGN §6). The façade is `cluster.Cluster`.

No rule about rollouts lives here: what is to be done comes in as `core.model.actions`, what is goes out as
`core.model.observed`.
"""

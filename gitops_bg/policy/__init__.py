"""Promotion policies: the place for them. What they say is to be a gate of `core.traffic.gates`."""

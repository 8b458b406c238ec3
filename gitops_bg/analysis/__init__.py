"""Metric providers and hooks: the place for them. Their word enters the engine as `core.observed.Verdict`."""

"""Metric providers and hooks: measuring beside the reconciling. What comes out enters the engine as data."""

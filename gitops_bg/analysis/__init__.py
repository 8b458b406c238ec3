"""Metric providers: measurements in the background. Their results enter the engine as data."""

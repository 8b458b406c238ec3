"""What the agent shows over HTTP, by real requests."""

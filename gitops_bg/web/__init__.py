"""What the agent shows over HTTP: health, metrics and the webhook that wakes it."""

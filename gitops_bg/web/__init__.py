"""The agent's HTTP interface: health, metrics and the webhook that wakes it."""

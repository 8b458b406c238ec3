"""The agent's HTTP interface: health, metrics, the webhook that wakes it, and the dashboard."""

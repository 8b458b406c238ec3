"""What `check --live` asks a cluster."""

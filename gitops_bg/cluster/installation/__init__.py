"""The agent's own installation: its objects from `deploy/`, applied, watched until ready, and removed."""

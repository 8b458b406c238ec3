"""What one run of a command works with: the repository, the cluster, the agent and the user's own clone."""

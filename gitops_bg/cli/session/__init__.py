"""What one run of a command works with: repository, cluster, agent, the user's own clone."""

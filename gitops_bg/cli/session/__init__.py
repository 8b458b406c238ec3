"""What one run of a command works with: the repository, the cluster, and the agent."""

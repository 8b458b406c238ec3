"""Commands that change something, in Git or in the cluster."""

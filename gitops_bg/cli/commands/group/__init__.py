"""The verbs of `gitops-bg group`: release groups."""

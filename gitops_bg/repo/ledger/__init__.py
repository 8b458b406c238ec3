"""The state branch of a cluster: what happened to apps, groups and policies; written, and read back."""

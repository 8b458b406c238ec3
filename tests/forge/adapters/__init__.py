"""What the adapter of one forge alone does."""

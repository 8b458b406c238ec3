"""What Git says: heads, files, history, reverts, promotion branches."""

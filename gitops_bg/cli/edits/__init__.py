"""What commands change in Git: the commit, and the new content of its files."""

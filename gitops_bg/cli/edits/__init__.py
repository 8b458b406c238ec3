"""What commands change in Git: the commit, and what its files are to say."""

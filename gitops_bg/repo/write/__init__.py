"""What the agent and the command line write to Git: commits, promotions, edits for people, and what they say."""

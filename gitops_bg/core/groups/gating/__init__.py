"""What the gates of a group ask: whether its services run, whether somebody suspends it, and what policies say."""

"""What operators ask of a group, and what it does about that."""

"""Options that commands share, and the texts that they take."""

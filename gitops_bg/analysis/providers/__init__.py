"""Where values come from: one file a backend, and what they share."""

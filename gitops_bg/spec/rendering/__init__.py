"""What a target was rendered from, and whether that has changed since. Renders nothing."""

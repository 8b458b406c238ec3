"""Shows again what changes, and waits for it."""

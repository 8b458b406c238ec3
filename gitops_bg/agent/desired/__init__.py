"""What Git says about every app: read by one thread, and written by it."""

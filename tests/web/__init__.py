"""What the web shows, without a server."""

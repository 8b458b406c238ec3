"""What live objects are to look like, and the patches that make them so. Pure."""

"""The state of live objects: informers, and their projection for the core."""

"""Git itself: processes, the mirror, the transport, pushes. Nothing here knows an app."""

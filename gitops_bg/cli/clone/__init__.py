"""The clone and the work tree of whoever calls a verb. Nothing here asks a cluster."""

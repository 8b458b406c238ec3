"""The HTTPRoutes of a group: which rules its state needs, and how they fit into objects."""

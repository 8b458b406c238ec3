"""Git as data: looks at main, how one main relates to another, and pull requests."""

"""Apps that are adopted, given back, renamed, or whose folder leaves main."""

"""Jobs before the pods of a version."""

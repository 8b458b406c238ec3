"""YAML as text and as values: read as kubectl reads it, written so that it diffs well, edited byte by byte."""

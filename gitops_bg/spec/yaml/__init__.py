"""YAML as text and as values: read as kubectl reads it, written so that diffs are readable, edited byte by byte."""

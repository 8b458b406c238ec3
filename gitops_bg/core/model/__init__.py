"""The nouns: what Git asks for, what the cluster shows, what the record remembers, what to do. Frozen data."""

"""The nouns: what Git asks for, what the cluster shows, what is remembered, what is to be done. Frozen data."""

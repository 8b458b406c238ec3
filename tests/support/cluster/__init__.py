"""The two clusters, and how tests talk to them."""

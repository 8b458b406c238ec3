"""How an app and what serves beside it share a cluster: before the hand-over, on it, and on the way back."""

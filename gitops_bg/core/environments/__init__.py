"""What only environments have: which come before and after one another, what travels between them (decision 112)."""

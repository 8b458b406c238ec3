"""Which versions there are, what tells them apart, and what becomes of those that traffic left."""

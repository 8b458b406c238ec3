"""How a version of an app or of a release group is delivered: who is asked about it, and who is told."""

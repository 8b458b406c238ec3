"""What users install: how it is made, and that it works where they do."""

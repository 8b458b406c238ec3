"""What is read from the API server when it is needed, and never watched, so that idle apps cost nothing (DESIGN §8)."""

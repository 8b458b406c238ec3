"""What the agent costs with 1, 10, 100 … apps, as rows, as a picture, and where its memory goes."""

"""The verbs, in rooms by what they do: write files into a work tree, look, or operate apps and groups."""

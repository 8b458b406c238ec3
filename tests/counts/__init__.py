"""How large the house is: `python -m tests.counts` counts its ideas, files and lines, from the tree itself."""

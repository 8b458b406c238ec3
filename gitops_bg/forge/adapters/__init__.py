"""One adapter for the API of each forge, over one way of reading answers."""

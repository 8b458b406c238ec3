"""Steps that ask analyses and hooks, take their answers in, and draw the consequences."""

"""Steps that follow what people decide in Git and as operators, in the order in which they decided it."""

"""Steps that follow what people decide in Git and as operators, in the order of the decisions."""

"""Tables at `decide`: of a world, what is done and remembered, and what people see. No inner function is named."""

"""What the agent would do: the plan of main as it is, or as it would be, and how forges show it."""

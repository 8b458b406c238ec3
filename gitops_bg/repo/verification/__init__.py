"""Whether main's commits are signed by keys that the agent was given: never by what the repository itself says."""

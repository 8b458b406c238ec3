"""Who signed a commit; and whether main's are signed by keys that the agent was given, never by what the repository
itself says.
"""

"""The command line: verbs that print what they read, or decide through Git."""

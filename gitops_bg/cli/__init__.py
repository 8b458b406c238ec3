"""The command line: each verb prints what it reads, and decides through Git."""

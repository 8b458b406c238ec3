"""The configuration repository as the user has it: the clone, the work tree, and what verbs commit to main."""

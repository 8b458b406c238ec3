"""Which apps there are in a commit, where they lie, and which of them differ from another one."""

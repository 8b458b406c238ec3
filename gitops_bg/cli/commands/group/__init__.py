"""The verbs about release groups; what changes one is a commit on main."""

"""Release groups as users write them: ``groups/<namespace>/<group>/``, files become the core's types (decision 36)."""

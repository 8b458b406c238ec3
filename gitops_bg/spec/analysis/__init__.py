"""Analysis as users write it: templates, arguments, providers, conditions; converted to the core's plans."""

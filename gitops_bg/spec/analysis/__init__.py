"""Analysis as users write it: templates, arguments, providers, conditions; made into the core's plans."""

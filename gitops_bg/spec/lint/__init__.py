"""What `check` says of an app's folder beyond what the agent demands of it: rules, each with a name."""

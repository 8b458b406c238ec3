"""A certified OpenID provider, where the machine has one."""

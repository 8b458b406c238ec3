"""Pull requests beside the reconciling: what each look at an app wants of the forge, and the thread that sees to it."""

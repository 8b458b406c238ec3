"""Release groups in the running agent: a thread of their own, which tells each member whether to run."""

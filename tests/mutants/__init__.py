"""Mutation testing of the core: small changes of its source, which the tables of `tests/core` must notice."""

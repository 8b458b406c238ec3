"""Hooks: which are called now, with what, and when again."""

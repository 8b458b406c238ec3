"""Calls hooks and alert receivers over HTTP."""

"""Hooks and alerts as users write them."""

"""Exploration of apps (`tests.exploration`): their world, what can happen in it, and what must be so."""

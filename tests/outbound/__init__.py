"""Tests of the one way out over HTTP."""

"""Tests of what is written to a cluster."""

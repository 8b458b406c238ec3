"""Tests of the cluster adapter's pure parts: bodies, patches, what is read from objects."""

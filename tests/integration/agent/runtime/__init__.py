"""Tests of the parts that drive the loops."""

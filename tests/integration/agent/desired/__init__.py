"""Tests of what Git asks for, and what is written there."""

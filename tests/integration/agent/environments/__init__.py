"""Tests of environments, with real Git and a running agent."""

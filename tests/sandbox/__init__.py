"""Tests of the sandbox's parts by themselves."""

"""Tests of the agent's parts that need no cluster, no Git and no HTTP."""

"""Tests of what is in the cluster, and who else writes there."""

"""Tests of what the command line computes and draws, without a cluster."""

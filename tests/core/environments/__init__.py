"""Tests of `gitops_bg.core.environments`."""

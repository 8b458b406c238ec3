"""Tests of `gitops_bg.spec.environments`."""

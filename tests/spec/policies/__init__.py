"""Tests of `gitops_bg.spec.policies`."""

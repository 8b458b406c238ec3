"""Tests of `gitops_bg.spec.analysis`."""

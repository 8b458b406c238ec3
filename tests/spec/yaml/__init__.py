"""Tests of `gitops_bg.spec.yaml`."""

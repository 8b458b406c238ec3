"""Tests of `gitops_bg.spec.manifests`."""

"""Tests of `gitops_bg.spec.notifications`."""

"""Tests of `gitops_bg.core.status`."""

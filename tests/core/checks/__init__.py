"""Tests of `gitops_bg.core.checks`."""

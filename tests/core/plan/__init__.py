"""Tests of `gitops_bg.core.plan`."""

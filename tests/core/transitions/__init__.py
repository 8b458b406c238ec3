"""Tests of `gitops_bg.core.transitions`."""

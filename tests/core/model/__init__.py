"""Tests of `gitops_bg.core.model`."""

"""Tests of `gitops_bg.core.text`."""

"""Tests of `gitops_bg.spec.app`."""

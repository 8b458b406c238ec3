"""Tests of `gitops_bg.core.foreign_json` and `foreign_text`."""

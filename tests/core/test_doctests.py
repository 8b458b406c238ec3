"""The examples in the docstrings of the core are true."""

import doctest
import importlib
import pkgutil

import pytest

import gitops_bg.core

MODULES = sorted(module.name for module in pkgutil.iter_modules(gitops_bg.core.__path__))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name):
    assert doctest.testmod(importlib.import_module(f"gitops_bg.core.{name}")).failed == 0


def test_there_are_examples():
    found = [
        doctest.DocTestFinder().find(importlib.import_module(f"gitops_bg.core.{name}"))
        for name in ("digest", "names", "actions")
    ]
    assert all(any(test.examples for test in tests) for tests in found)

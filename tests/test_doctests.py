"""The examples in docstrings are true, in every package."""

import doctest
import importlib
import pkgutil

import pytest

import gitops_bg

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(gitops_bg.__path__, "gitops_bg.") if "__main__" not in module.name
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_are_found_in_every_layer() -> None:
    with_examples = {name.split(".")[1] for name in MODULES if _examples(name)}
    assert with_examples >= {"core", "spec", "repo", "cluster", "outbound", "agent", "cli"}


def _examples(name: str) -> bool:
    found = doctest.DocTestFinder().find(importlib.import_module(name))
    return any(test.examples for test in found)

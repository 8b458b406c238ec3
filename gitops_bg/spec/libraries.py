"""Imports a part of a library without its package, which may import much that nobody uses.

`import cel.cel` imports the package `cel` first, and that a command line with a terminal library; `git.cmd` imports
`git`, which starts Git twice. That is a quarter of the CPU that a verb may take.
"""

import sys
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from threading import RLock
from types import ModuleType

_importing = RLock()


@cache
def import_alone(name: str) -> ModuleType:
    """Import ``package.module``, whose package must need nothing of what it imports itself; the package as such is
    imported by whoever asks for it later.
    """
    with _importing:  # `cache` lets two threads import the same, and one would take the package from the other
        return _imported(name)


def _imported(name: str) -> ModuleType:
    package, _, _ = name.partition(".")
    if package in sys.modules:
        return import_module(name)
    found = PathFinder.find_spec(package)
    if found is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    sys.modules[package] = bare = ModuleType(package)
    bare.__path__ = list(found.submodule_search_locations or ())
    bare.__spec__ = found
    try:
        return import_module(name)
    finally:
        del sys.modules[package]

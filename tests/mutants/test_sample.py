"""The tables of `tests/core` kill a sample of mutants of the core; those that may live are listed with the reason."""

import subprocess
import sys

from tests.mutants.__main__ import survivors
from tests.mutants.mutation import ROOT, mutants

MANY = 30
"""Each costs a second, beside one run of all tests; `make mutants SAMPLE=n` tries more."""


def test_sample_of_mutants_is_killed():
    """In a process of its own: this one may have imported the core."""
    command = [sys.executable, "-m", "tests.mutants", "--sample", str(MANY)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, f"no test in tests/core notices these:\n{ran.stdout}{ran.stderr}"


def test_survivors_are_mutants_of_the_source_as_it_is():
    assert set(survivors()) <= {str(mutant) for mutant in mutants()}, "these are none any more: take them out"


def test_every_survivor_is_explained():
    assert all(survivors().values())

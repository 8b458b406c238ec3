"""The list of mutants that may live is about the source as it is, and says why. CI tries a sample of them all."""

from tests.mutants.__main__ import survivors
from tests.mutants.mutation import mutants


def test_survivors_are_mutants_of_the_source_as_it_is():
    assert set(survivors()) <= {str(mutant) for mutant in mutants()}, "these are none any more: take them out"


def test_every_survivor_is_explained():
    assert all(survivors().values())

"""A short run over every parser of foreign bytes: nothing but its error, whatever the bytes (`make fuzz` goes on)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, seeds

_ODD = (
    "\x00",
    "\xff\xfe",
    "\xed\xa0\x80",
    "\xe2\x80\xa8",
    "\xe2\x80\xae",
    "\xc2\x85",
    "\r",
    "'",
    '"',
    "{",
    "[",
    "- ",
    ": ",
    "9" * 50,
)
_PIECES = [piece.encode("latin-1") for piece in _ODD]
_CHANGES = 4


def _changed(seed: bytes, number: int) -> bytes:
    """A seed with a few changes, the same for the same number."""
    chance, data = random.Random(number), bytearray(seed)
    for _ in range(chance.randint(1, _CHANGES)):
        at = chance.randint(0, len(data))
        match chance.randrange(4):
            case 0:
                data[at:at] = chance.choice(_PIECES)
            case 1:
                del data[at : at + chance.randint(1, 8)]
            case 2:
                data[at:at] = data[at // 2 : at]
            case _:
                data[at : at + 1] = bytes([chance.randrange(256)])
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_that_are_expected_come_of_the_corpus(name: str) -> None:
    assert seeds(name)
    for seed in seeds(name):
        TARGETS[name](seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_that_are_expected_come_of_changed_texts(name: str) -> None:
    target = TARGETS[name]
    for seed in seeds(name):
        target(seed)
        for number in range(40):
            target(_changed(seed, number))


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=25, deadline=None)
@given(data=st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_only_errors_that_are_expected_come_of_any_bytes(name: str, data: bytes) -> None:
    TARGETS[name](data)

"""Which raw commits have the form that git itself writes; no other is asked about its signature."""

from __future__ import annotations

import time

import pytest

from gitops_bg.repo.git.output import signature_in

TREE = b"tree " + b"4b" * 20 + b"\n"
PARENT = b"parent " + b"1f" * 20 + b"\n"
AUTHOR = b"author Ada L <ada@example.com> 1700000000 +0100\n"
COMMITTER = b"committer Ada L <ada@example.com> 1700000000 -0930\n"
PEOPLE = AUTHOR + COMMITTER
SIGNATURE = b"gpgsig -----BEGIN\n AAAA\n \n"
ENDED = b"\nWhy\n"
SIGNED = b"-----BEGIN\nAAAA\n\n"
ALL = TREE + PARENT + PEOPLE

GOOD = {
    "the first of a history": (TREE + PEOPLE + SIGNATURE, SIGNED),
    "a merge": (TREE + PARENT + PARENT + PEOPLE + SIGNATURE, SIGNED),
    "without a signature": (ALL, b""),
    "a signature of one line": (ALL + b"gpgsig x\n", b"x\n"),
    "other headers around": (
        ALL + b"encoding latin1\nHG:extra x\n" + SIGNATURE + b"mergetag object 4b\n parent 1f\n \n gpgsig x\nempty\n",
        SIGNED,
    ),
    "no name": (TREE + b"author <a> 1 +0000\ncommitter  <> 0 +0000\n" + SIGNATURE, SIGNED),
    "bytes that are not UTF-8": (TREE + PARENT + AUTHOR.replace(b"Ada", b"\xe9") + COMMITTER, b""),
    "of the year 9000": (ALL.replace(b"1700000000", b"221876927999"), b""),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_git_writes(name: str) -> None:
    head, wanted = GOOD[name]
    assert signature_in(head + ENDED, 40) == wanted
    assert signature_in(head + b"\n", 40) == wanted, "without a message"
    message = b"\ngpgsig in the message\n\nparent x\n"
    assert signature_in(head + message, 40) == wanted


BAD = {
    "nothing": b"",
    "a signature before all": SIGNATURE + ALL,
    "a signature before the parents": TREE + SIGNATURE + PARENT + PEOPLE,
    "a signature between the parents": TREE + PARENT + SIGNATURE + PARENT + PEOPLE,
    "a signature before the people": TREE + PARENT + SIGNATURE + PEOPLE,
    "a signature between the people": TREE + PARENT + AUTHOR + SIGNATURE + COMMITTER,
    "another header before the parents": TREE + b"x y\n" + PARENT + PEOPLE + SIGNATURE,
    "a parent at the end": TREE + PEOPLE + SIGNATURE + PARENT,
    "a parent between the people": TREE + AUTHOR + PARENT + COMMITTER + SIGNATURE,
    "no tree": PARENT + PEOPLE,
    "two trees": TREE + TREE + PARENT + PEOPLE,
    "a tree at the end": ALL + TREE,
    "no author": TREE + PARENT + COMMITTER,
    "two authors": TREE + AUTHOR + AUTHOR + COMMITTER,
    "no committer": TREE + AUTHOR,
    "two committers": ALL + COMMITTER,
    "an author at the end": ALL + AUTHOR,
    "two signatures": ALL + SIGNATURE + SIGNATURE,
    "signatures for both kinds of ids": ALL + SIGNATURE + b"gpgsig-sha256 x\n",
    "a signature for other ids": ALL + b"gpgsig-sha256 x\n",
    "a name that begins as that of a signature": ALL + b"gpgsigned x\n",
    "a signature without a value": ALL + b"gpgsig\n AAAA\n",
    "a tab behind the name": ALL + b"gpgsig\tx\n",
    "a line that goes on after the committer": ALL + b" more\n" + SIGNATURE,
    "a line that goes on after the tree": TREE + b" more\n" + PEOPLE,
    "an empty name": ALL + b"\tx\n",
    "short ids": ALL.replace(b"1f" * 20, b"1f" * 19),
    "long ids": ALL.replace(b"1f" * 20, b"1f" * 32),
    "ids in capitals": ALL.replace(b"1f" * 20, b"1F" * 20),
    "space behind an id": ALL.replace(b"1f\n", b"1f \n"),
    "lines that end as in Windows": ALL.replace(b"\n", b"\r\n"),
    "a NUL": ALL.replace(b"Ada", b"A\0a"),
    "a date that git cannot hold": ALL.replace(b"1700000000", b"99999999999999999999"),
    "a date that Python cannot hold": ALL.replace(b"1700000000", b"284012568000"),
    "of the year 9001": ALL.replace(b"1700000000", b"221876928000"),
    "a date before 1970": ALL.replace(b"1700000000", b"-1"),
    "a date with a zero in front": ALL.replace(b"1700000000", b"01"),
    "a date in words": ALL.replace(b"1700000000", b"now"),
    "no date": ALL.replace(b" 1700000000 +0100", b""),
    "no zone": ALL.replace(b" +0100", b""),
    "a zone of six digits": ALL.replace(b"+0100", b"+010000"),
    "no mail": ALL.replace(b" <ada@example.com>", b""),
    "two mails": ALL.replace(b"<ada", b"<b> 1 +0000 <ada"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_git_does_not_write(name: str) -> None:
    assert signature_in(BAD[name] + ENDED, 40) is None


def test_a_commit_ends_its_headers_by_an_empty_line_and_has_no_nul_in_its_message() -> None:
    assert signature_in(ALL + SIGNATURE, 40) is None
    assert signature_in(ALL + b"\na\0b", 40) is None


def test_the_header_of_a_signature_and_the_ids_belong_together() -> None:
    raw = (ALL + SIGNATURE + ENDED).replace(b"4b" * 20, b"4b" * 32).replace(b"1f" * 20, b"1f" * 32)
    assert signature_in(raw, 64) is None
    assert signature_in(raw.replace(b"gpgsig ", b"gpgsig-sha256 "), 64) == SIGNED
    assert signature_in(raw.replace(b"gpgsig ", b"gpgsig-sha256 "), 40) is None


@pytest.mark.parametrize("part", [PARENT, b"x y\n", b" <", b"author ", b"gpgsig", b"\n"])
def test_the_time_is_linear_in_the_length(part: bytes) -> None:
    began = time.perf_counter()
    for start in (TREE, ALL, TREE + b"author "):
        signature_in(start + part * (1_000_000 // len(part)), 40)
    assert time.perf_counter() - began < 5

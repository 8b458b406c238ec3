"""What `check` says of the file of allowed signers, and of the names that people have in it."""

from __future__ import annotations

import pytest

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.policies.load import load_people
from gitops_bg.spec.policies.people import check_signers
from tests.support.signers import PEOPLE

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJgV"
GOOD = f"grace {KEY} grace@laptop\nbob {KEY}\n"


def found(signers: bytes | Problem | None, people: str = PEOPLE) -> tuple[list[str], list[str]]:
    problems, notes = check_signers(load_people(people.encode()), signers)
    return [str(each) for each in problems], [str(each) for each in notes]


@pytest.mark.parametrize(
    "signers",
    [
        GOOD,
        f"# keys\n\ngrace,bob {KEY}\n",
        f'"grace,bob" namespaces="git",valid-before="20270101Z" {KEY}\n',
        f"grace cert-authority {KEY}\r\nbob sk-ssh-ed25519@openssh.com AAAAGnNr\n",
    ],
)
def test_a_good_file_says_nothing(signers: str) -> None:
    assert found(signers.encode()) == ([], [])


def test_a_name_that_leads_nowhere_is_an_error_with_its_line() -> None:
    lost = (
        "policies/people.yaml:%d: people[%d].signers[0]: policies/allowed_signers has no %s, so nothing that %s signs"
    )
    problems, _ = found(f"grace {KEY}".encode())
    assert [each.startswith(lost % (5, 1, "bob", "bob")) for each in problems] == [True]
    problems, _ = found(None)
    assert len(problems) == 2


def test_a_line_that_is_none_and_a_name_that_is_nobody_s() -> None:
    problems, notes = found(f"{GOOD}eve {KEY}\nmallory\n".encode())
    assert problems == [
        "policies/allowed_signers:4: is no line of a signer (write NAME ssh-ed25519 KEY, as in ssh-keygen(1))"
    ]
    assert notes == [
        "policies/allowed_signers:3: eve is among the signers of nobody in policies/people.yaml, so what it signs does "
        "not count (add it to somebody's signers in policies/people.yaml)"
    ]


def test_a_file_that_git_found_unusable_and_people_that_are_broken() -> None:
    link = Problem("policies/allowed_signers", "is a symbolic link")
    assert found(link) == ([str(link)], [])
    assert found(GOOD.encode(), "x: [") == ([], [])


def test_without_people_and_signers_nothing_is_said() -> None:
    assert check_signers(load_people(None), None) == ((), ())

"""The effective content of ``policies/``, as a digest; and how two contents differ, in words."""

from __future__ import annotations

import pytest

from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.ledger.policy_log import PoliciesAt, differences, policies_at
from tests.fixtures.repos.texts import policy

CALM = policy("calm", "- soak: {for: 1h}").encode()
PEOPLE = b"apiVersion: gitops-bg.dev/v1alpha1\nkind: People\npeople:\n- {name: ada}\n"
REQUIRES = b"apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\nrequire: [calm]\n"
FILES = {"policies/calm.yaml": CALM, "policies/people.yaml": PEOPLE}


def at(settings: bytes | None = None, **files: bytes | Problem) -> PoliciesAt:
    return policies_at({f"policies/{name.replace('__', '.')}": content for name, content in files.items()}, settings)


def test_what_decides_nothing_is_left_out() -> None:
    more = {"policies/calm.test.yaml": b"x", "policies/library/calm.yaml": CALM, "policies/notes.txt": b"x"}
    assert policies_at({**FILES, **more}, b"kind: Settings").digest == policies_at(FILES, None).digest != ""
    assert policies_at(more, None).digest == ""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (at(), at(calm__yaml=CALM), ("calm added",)),
        (at(calm__yaml=CALM), at(), ("calm removed",)),
        (at(calm__yaml=CALM), at(calm__yaml=CALM.replace(b"1h", b"2h")), ("calm changed",)),
        (at(calm__yaml=CALM), at(other__yaml=CALM), ()),
        (at(calm__yaml=CALM), at(calm__yaml=b"x: ["), ("calm removed", "policies/calm.yaml cannot be read")),
        (at(calm__yaml=b"x: ["), at(calm__yaml=b"y: ["), ()),
        (at(calm__yaml=Problem("policies/calm.yaml", "is a link")), at(calm__yaml=CALM), ("calm added",)),
        (at(people__yaml=PEOPLE), at(people__yaml=PEOPLE + b"- {name: eve}\n"), ("people changed",)),
        (at(allowed_signers=b"ada ssh-ed25519 A"), at(), ("allowed_signers changed",)),
        (at(), at(REQUIRES), ("required: calm",)),
        (at(REQUIRES), at(b"x: ["), ("required: none",)),
        (at(REQUIRES), at(REQUIRES), ()),
    ],
)
def test_each_difference_is_a_phrase(before: PoliciesAt, after: PoliciesAt, said: tuple[str, ...]) -> None:
    assert differences(before, after) == said
    assert (before.digest != after.digest) or not said

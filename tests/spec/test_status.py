"""The model of a status reads what any release, or somebody else, has written."""

from typing import Any

import pytest

from gitops_bg.spec.status import Status

SAID = {"phase": "Healthy", "active": {"version": 3, "color": "blue"}, "gates": [{"kind": "manual", "open": False}]}

FOREIGN: dict[str, Any] = {
    "no status": None,
    "no mapping": ["Healthy"],
    "a phase that is no text": {"phase": 5},
    "conditions that are none": {"conditions": [{"type": "Ready"}]},
    "a gate that is neither open nor shut": {"gates": [{"kind": "manual"}]},
}


def test_what_is_stored_is_read_again() -> None:
    assert Status.read(SAID).stored() == SAID


def test_field_of_a_newer_release_is_ignored() -> None:
    assert Status.read({**SAID, "train": "friday"}) == Status.read(SAID)


@pytest.mark.parametrize("name", FOREIGN)
def test_what_somebody_else_wrote_there_is_left_out(name: str) -> None:
    assert Status.read(FOREIGN[name]) == Status()


def test_the_rest_of_a_status_in_which_somebody_wrote_is_read() -> None:
    assert Status.read({**SAID, "waits": "for ever"}) == Status.read(SAID)

"""The model of a status reads what any release, or somebody else, has written."""

from typing import Any

import pytest

from gitops_bg.spec.status import Status

SAID = {"phase": "Healthy", "active": {"version": 3, "color": "blue"}, "gates": [{"kind": "manual", "open": False}]}

FOREIGN: dict[str, Any] = {
    "no status": None,
    "no mapping": ["Healthy"],
    "a phase that is no text": {"phase": 5},
    "conditions that are no list": {"conditions": "Ready"},
}


def test_what_is_stored_is_read_again() -> None:
    assert Status.read(SAID).stored() == SAID


def test_field_of_a_newer_release_is_ignored() -> None:
    assert Status.read({**SAID, "train": "friday"}) == Status.read(SAID)


@pytest.mark.parametrize("name", FOREIGN)
def test_what_somebody_else_wrote_there_is_left_out(name: str) -> None:
    assert Status.read(FOREIGN[name]) == Status()


READY = {"type": "Ready", "status": "True"}
BESIDE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a field that is none": ({**SAID, "waits": "for ever"}, SAID),
    "only conditions that are none": ({"conditions": [{"type": "Ready"}]}, {"conditions": []}),
    "a gate that is neither open nor shut": ({"gates": [{"kind": "manual"}]}, {"gates": []}),
    "a condition that is none": ({"conditions": [{"type": "Ours"}, READY]}, {"conditions": [READY]}),
    "a number that is none": ({"active": {"version": "three", "color": "blue"}}, {"active": {"color": "blue"}}),
    "the name of a field in the code": ({**SAID, "observed_generation": "x"}, SAID),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_is_sound_beside_what_somebody_wrote_is_read(name: str) -> None:
    written, sound = BESIDE[name]
    assert Status.read(written).stored() == sound

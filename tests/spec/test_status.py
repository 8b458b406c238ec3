"""The model of a status reads what any release, or somebody else, has written."""

from typing import Any

import pytest

from gitops_bg.core.model.conditions import Condition
from gitops_bg.spec.status import Status, conditions_of
from gitops_bg.views.rows import group_row_of, row_of

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


def test_a_part_that_lacks_what_it_must_have_is_left_out() -> None:
    asked = {"handledLook": {"request": 5, "commit": "9be1"}}
    assert Status.read({**SAID, **asked}).stored() == SAID


PULL = {"number": 7, "url": "https://forge/7", "state": "closed", "closedBy": "ada"}
READ_CONDITIONS = [
    ({"type": "Ready", "status": "False", "reason": "Late", "message": "not yet"}, ("Ready", False, "Late", "not yet")),
    ({"type": "Known", "status": "Unknown"}, ("Known", None, "", "")),
    ({"type": "Known", "status": "Perhaps"}, ("Known", None, "", "")),
    (READY, ("Ready", True, "", "")),
]


@pytest.mark.parametrize(("written", "read"), READ_CONDITIONS)
def test_conditions_are_read_in_the_words_of_the_core(
    written: dict[str, str], read: tuple[str, bool | None, str, str]
) -> None:
    assert conditions_of(Status.read({"conditions": [written]})) == (Condition(*read),)


METADATA = {"namespace": "shop", "name": "web"}


def test_a_row_of_a_list_shows_what_is_sound_of_an_app() -> None:
    foreign = {"phase": 5, "message": ["x"], "active": {"version": 3, "color": 2, "name": "1.2.0 (v3)"}, "gates": [1]}
    row = row_of({"metadata": METADATA, "status": {**foreign, "pullRequest": PULL}})
    assert (row.phase, row.message, row.version, row.color, row.promotion) == ("Unknown", "", 3, "", "")
    assert (row.active_name, row.pull_request) == ("1.2.0 (v3)", "#7 https://forge/7 (closed by ada)")


def test_a_row_of_a_list_shows_what_is_sound_of_a_group() -> None:
    versions = [{"name": "v1", "stage": "Active", "services": ["cart-v1", "auth-v1"]}, {"name": "v2", "stage": "x"}]
    written = {"active": 5, "legacy": ["v0"], "candidates": "v2", "versions": versions, "record": "packed"}
    row = group_row_of({"metadata": METADATA, "status": written})
    assert row.status.stored() == {"versions": versions}
    assert row.members == ("cart-v1", "auth-v1")

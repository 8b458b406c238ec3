"""The model of a status reads what any release, or somebody else, has written."""

from typing import Any

import pytest

from gitops_bg.spec.glance import GroupGlance, StatusSummary
from gitops_bg.spec.status import GroupStatus, Status, VersionStatus

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


PULL = {"number": 7, "url": "https://forge/7", "state": "closed", "closedBy": "ada"}
FULL = {
    "phase": "Waiting",
    "message": "its pods come up",
    "active": {"version": 3, "digest": "v1:3f9c", "color": "blue", "commit": "9be1", "image": "web:1.2.0"},
    "candidate": {"version": 4, "digest": "v1:77aa", "color": "green", "image": "web:1.3.0"},
    "gates": [{"kind": "manual", "open": False, "reason": "shut"}, {"kind": "pause", "open": True}],
    "pullRequest": PULL,
    "conditions": [
        {"type": "Ready", "status": "False", "reason": "Late", "message": "not yet"},
        {"type": "Known", "status": "Unknown"},
        READY,
    ],
}
GLANCED = {
    "a whole status": FULL,
    "no status": None,
    "an empty one": {},
    "a text for a number": {"active": {"version": "three", "color": "blue", "image": "web:1"}},
    "a number for a text": {**FULL, "phase": 5, "message": ["x"], "candidate": {"version": 4, "color": 2}},
    "parts that are none": {"active": "v3", "candidate": [], "gates": {}, "conditions": "Ready", "pullRequest": 7},
    "items that are none": {"gates": [1, {"kind": "x"}, {"kind": "x", "open": True}], "conditions": [None, READY]},
    "items with wrong texts": {
        "gates": [{"kind": "x", "open": True, "reason": 5}, {"kind": "y", "open": False, "until": 3}],
        "conditions": [{**READY, "reason": 5}, {**READY, "message": {}}, {"type": 1, "status": "True"}],
    },
    "a pull request of which little is known": {"pullRequest": {"number": 7}},
}


@pytest.mark.parametrize("name", GLANCED)
def test_a_glance_shows_what_the_model_says(name: str) -> None:
    """Lists read a status without the model, for speed: whatever is written there, they show the same."""
    glance, model = StatusSummary.read(GLANCED[name]), Status.read(GLANCED[name])
    pairs = ((glance.active, model.active), (glance.candidate, model.candidate))
    for seen, version in pairs:
        said = version or VersionStatus()
        assert (seen.number, seen.digest) == (said.version or 0, said.digest or "")
        assert (seen.color, seen.image) == (said.color or "", said.image or "")
    assert (glance.phase, glance.message) == (model.phase or "", model.message or "")
    assert [(each.kind, each.open) for each in glance.gates] == [(each.kind, each.open) for each in model.gates or ()]
    assert glance.pull_request == (str(model.pull_request) if model.pull_request else "")
    words = {"True": True, "False": False}
    assert [(each.type, each.status, each.reason, each.message) for each in glance.conditions] == [
        (each.type, words.get(each.status), each.reason or "", each.message or "") for each in model.conditions or ()
    ]


GROUP = {
    "phase": "Waiting",
    "message": "suspended by ada",
    "active": "v1",
    "legacy": "v0",
    "candidates": ["v2", "v3"],
    "versions": [{"name": "v1", "stage": "Active", "services": ["cart-v1", "auth-v1"]}, {"name": "v2", "stage": "x"}],
    "pullRequest": PULL,
    "conditions": [READY],
}
GROUPS_GLANCED = {
    "a whole status": GROUP,
    "no status": None,
    "a number for a text": {**GROUP, "active": 5, "legacy": ["v0"]},
    "parts that are none": {"candidates": "v2", "versions": {}, "conditions": "Ready", "pullRequest": 7},
}


@pytest.mark.parametrize("name", GROUPS_GLANCED)
def test_a_glance_at_a_group_shows_what_the_model_says(name: str) -> None:
    glance, model = GroupGlance.read(GROUPS_GLANCED[name]), GroupStatus.read(GROUPS_GLANCED[name])
    texts = (model.phase, model.message, model.active, model.legacy)
    assert (glance.phase, glance.message, glance.active, glance.legacy) == tuple(each or "" for each in texts)
    assert glance.candidates == (model.candidates or ())
    assert glance.members == tuple(app for each in model.versions or () for app in each.services or ())
    assert glance.pull_request == (str(model.pull_request) if model.pull_request else "")
    assert [each.type for each in glance.conditions] == [each.type for each in model.conditions or ()]

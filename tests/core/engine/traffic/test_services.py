"""The Services: each leads where the record says, and a foreign change of one is repaired, never read as a decision."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import ApplyService, PointPreview, RepairSelector, SwitchTraffic
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.version import short
from gitops_bg.core.world import World
from tests.core.simulation import manual
from tests.core.worlds import NOW, active, candidate, decided, digest, rising, service, world

THEIRS, THEIR_PREVIEW = (service(name, 1, ours=False, owner="theirs") for name in ("web", "web-preview"))
DECIDED = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)
S1, S2 = short(digest(1)), short(digest(2))
ACTIVE = {
    "nothing while both are right": (world(active(1)), []),
    "a missing active Service": (
        world(active(1), observed={"active_service": None}),
        [f"apply the active Service web -> {S1}: it does not exist"],
    ),
    "a wiped selector": (
        world(active(1), observed={"active_service": service("web", 0)}),
        [f"lead the active Service web back to {S1}: somebody changed its selector"],
    ),
    "a selector that somebody pointed elsewhere": (
        world(active(1), candidate(2), observed={"active_service": service("web", 2)}),
        [f"lead the active Service web back to {S1}: somebody changed its selector"],
    ),
    "ports that differ from Git": (
        world(active(1), observed={"active_service": service("web", 1, drifted=True)}),
        [f"apply the active Service web -> {S1}: it differs from what Git asks for"],
    ),
    "a wiped selector and ports that differ, the selector first": (
        world(active(1), observed={"active_service": service("web", 0, drifted=True)}),
        [
            f"lead the active Service web back to {S1}: somebody changed its selector",
            f"apply the active Service web -> {S1}: it differs from what Git asks for",
        ],
    ),
    "somebody else's active Service is left alone": (world(active(1), observed={"active_service": THEIRS}), []),
    "somebody else's is left alone, also with a switch decided": (
        world(active(1), candidate(2), observed={"active_service": THEIRS}, record={"switch": DECIDED}),
        [],
    ),
    "a switch to a version nobody knows is no write": (
        world(active(1), record={"switch": replace(DECIDED, to_digest=digest(9))}),
        [],
    ),
    "a switch": (
        world(active(1), candidate(2), names_=2, record={"switch": DECIDED}),
        ["switch live traffic from 1 (v1) to 2 (v2)"],
    ),
    "no active Service before anything serves": (world(rising(1)), []),
}
PREVIEW = {
    "a missing one": (
        world(active(1), observed={"preview_service": None}),
        [f"apply the preview Service web-preview -> {S1}: it does not exist"],
    ),
    "a preview that moves": (
        world(active(1), candidate(2), record={"preview": digest(2)}),
        [f"point the preview Service web-preview to {S2}"],
    ),
    "a preview that moves and differs": (
        world(
            active(1),
            candidate(2),
            record={"preview": digest(2)},
            observed={"preview_service": service("web-preview", 1, drifted=True)},
        ),
        [
            f"point the preview Service web-preview to {S2}",
            f"apply the preview Service web-preview -> {S2}: it differs from what Git asks for",
        ],
    ),
    "a preview whose selector was wiped": (
        world(active(1), observed={"preview_service": service("web-preview", 0)}),
        [f"point the preview Service web-preview to {S1}"],
    ),
    "somebody else's preview Service is left alone": (
        world(active(1), candidate(2), record={"preview": digest(2)}, observed={"preview_service": THEIR_PREVIEW}),
        [],
    ),
    "no preview Service where none is asked for": (
        world(active(1), spec=manual(preview_service=None), observed={"preview_service": None}),
        [],
    ),
}


SERVICES = (SwitchTraffic, ApplyService, RepairSelector, PointPreview)


def written(state: World, name: str) -> list[str]:
    """What is written to one Service, in words."""
    return [str(one) for one in decided(state).actions if isinstance(one, SERVICES) and one.name == name]


@pytest.mark.parametrize("name", ACTIVE)
def test_what_is_written_to_the_active_service(name):
    state, said = ACTIVE[name]
    assert written(state, "web") == said


@pytest.mark.parametrize("name", PREVIEW)
def test_what_is_written_to_the_preview_service(name):
    state, said = PREVIEW[name]
    assert written(state, "web-preview") == said


def test_a_switch_compares_and_swaps_on_the_selector_it_was_decided_on():
    state = world(active(1), candidate(2), names_=2)
    (move,) = (action for action in decided(state).actions if isinstance(action, SwitchTraffic))
    assert move.expected_selector == service("web", 1).selector
    assert (move.needs_available, move.create) == (3, False)


def test_a_missing_active_service_is_created_by_the_switch():
    state = world(candidate(1), names_=1)
    (move,) = (action for action in decided(state).actions if isinstance(action, SwitchTraffic))
    assert (move.create, move.expected_selector) == (True, ())

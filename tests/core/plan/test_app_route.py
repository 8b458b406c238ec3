"""The route in front of an app's Services: when it is written, and which version it names."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model import actions as act
from gitops_bg.core.model.auxiliary import AppRoute, AuxiliaryObject
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.world import World
from tests.core.simulation import manual
from tests.core.worlds import active, candidate, decided, digest, service, world

OBJECT = AuxiliaryObject("HTTPRoute", "web")
ROUTE = AppRoute(OBJECT, 80)
PREVIEW = manual(preview_service="web-preview")
PORTS = '[{"port":80}]'


def live(names: int = 0, **changes: Any) -> AuxiliaryView:
    """The live route, which names a version."""
    return replace(AuxiliaryView(OBJECT, names_version=short(digest(names)) if names else ""), **changes)


def routed(
    *versions: Any, shows: int, view: AuxiliaryView | None, preview: int = 0, ports: str = PORTS, **fields: Any
) -> World:
    """A world with a route in Git. The preview Service shows one version, and is to show ``preview``, or the same."""
    services = {
        "active_service": service("web", 1, ports=ports),
        "preview_service": service("web-preview", shows, ports=ports) if shows else None,
    }
    seen = {**services, "auxiliary_objects": (view,) if view else (), **fields.pop("observed", {})}
    record = {"auxiliary_objects": (OBJECT,), "preview": digest(preview or shows or 1), **fields.pop("record", {})}
    desired = {"auxiliary_objects": (OBJECT,), "route": ROUTE, **fields.pop("desired", {})}
    return world(*versions, spec=fields.pop("spec", PREVIEW), desired=desired, observed=seen, record=record, **fields)


def done(state: World) -> list[str]:
    """What is to be done about the route and the preview."""
    found = (each for each in decided(state).actions if isinstance(each, act.ApplyAuxiliaryObject | act.PointPreview))
    return [
        f"name {each.number or 'none'}" if isinstance(each, act.ApplyAuxiliaryObject) else f"preview {each.digest}"
        for each in found
    ]


ONE, TWO = (active(1),), (active(1), candidate(2))
DONE = {
    "there is none: it is created, and names what the preview shows": (routed(*TWO, shows=2, view=None), ["name 2"]),
    "all is well": (routed(*TWO, shows=2, view=live(2)), []),
    "it names nothing yet": (routed(*TWO, shows=2, view=live()), ["name 2"]),
    "somebody changed it": (routed(*TWO, shows=2, view=live(2, drifted=True)), ["name 2"]),
    "the preview is to move: it names nothing first, and the preview waits": (
        routed(*TWO, shows=1, view=live(1)),
        ["name none"],
    ),
    "it names nothing any more: the preview moves": (
        routed(*TWO, shows=1, view=live()),
        [f"preview {digest(2)}"],
    ),
    "it is somebody else's: the preview does not wait for it": (
        routed(*TWO, shows=1, view=live(1, owner="Helm's")),
        [f"preview {digest(2)}"],
    ),
    "it cannot be read: likewise": (
        routed(*TWO, shows=1, view=live(1, trouble="no rights")),
        [f"preview {digest(2)}"],
    ),
    "it cannot be written: likewise": (
        routed(*TWO, shows=1, view=live(1), observed={"refused": "no rights"}),
        [f"preview {digest(2)}", "name none"],
    ),
    "the Services are not there yet": (routed(*TWO, shows=0, view=None), []),
    "the Services do not have its port yet": (routed(*TWO, shows=2, view=None, ports='[{"port":81}]'), []),
    "a port that the Services do not have yet keeps it as it is": (
        routed(*TWO, shows=2, view=live(2, drifted=True), ports='[{"port":81}]'),
        [],
    ),
    "without a preview Service it names nothing": (
        routed(*ONE, shows=0, view=None, spec=manual(preview_service=None)),
        ["name none"],
    ),
    "another active Service need not have its port": (
        routed(
            *TWO,
            shows=2,
            view=None,
            spec=manual(preview_service="web-preview", more_active_services=("web-admin",)),
            observed={"more_active_services": (service("web-admin", 1, ports='[{"port":81}]'),)},
        ),
        ["name 2"],
    ),
    "while suspended it stays": (
        routed(*TWO, shows=2, view=live(), spec=replace(PREVIEW, suspend=Suspension("a holiday"))),
        [],
    ),
}


@pytest.mark.parametrize("case", DONE)
def test_the_route(case: str) -> None:
    state, wanted = DONE[case]
    state = state.with_record(decided(state).record)
    assert done(state) == wanted


def test_a_version_is_named_only_while_the_preview_shows_it() -> None:
    state = routed(*TWO, shows=1, view=live(1))
    seen: list[tuple[bool, bool]] = []
    for _ in range(10):
        decision = decided(state)
        state = state.with_record(decision.record)
        for action in decision.actions:
            if isinstance(action, act.PointPreview):
                preview = service("web-preview", 2, ports=PORTS)
                state = replace(state, observed=replace(state.observed, preview_service=preview))
            elif isinstance(action, act.ApplyAuxiliaryObject):
                route = live(action.number or 0)
                state = replace(state, observed=replace(state.observed, auxiliary_objects=(route,)))
            else:
                continue
            shown = state.observed.preview_service
            named = state.observed.auxiliary_objects[0].names_version
            assert shown is not None
            assert named in ("", shown.digest), "nobody who names a version is answered by another one"
            seen.append((shown.digest == short(digest(2)), bool(named)))
    assert seen == [(False, False), (True, False), (True, True)]


def test_a_route_that_left_git_is_deleted() -> None:
    state = routed(*TWO, shows=2, view=live(2), desired={"auxiliary_objects": (), "route": None})
    assert [each for each in decided(state).actions if isinstance(each, act.DeleteAuxiliaryObject)] == [
        act.DeleteAuxiliaryObject(OBJECT, "it left Git")
    ]


def test_what_a_gateway_has_against_the_route_is_said() -> None:
    state = routed(*TWO, shows=2, view=live(2, refused="a Gateway refuses HTTPRoute shop/web: NotAllowedByListeners: "))
    (ready,) = [each for each in decided(state).conditions if each.type == "Ready"]
    assert (ready.status, "NotAllowedByListeners" in ready.message) == (False, True)

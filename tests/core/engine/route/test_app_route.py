"""The route in front of an app's Services: when it is written, and which version it names."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.model import actions as act
from gitops_bg.core.model.auxiliary import AppRoute, AuxiliaryObject
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.model.spec import PreviewWithoutCandidate, Suspension
from gitops_bg.core.model.version import short
from gitops_bg.core.world import World
from tests.core.simulation import manual
from tests.core.worlds import NOW, active, candidate, decided, digest, service, world

OBJECT = AuxiliaryObject("HTTPRoute", "web")
ROUTE = AppRoute(OBJECT, 80)
PREVIEW = manual(preview_service="web-preview")
PORTS, OTHER = '[{"port":80}]', '[{"port":81}]'


def live(names: int = 0, **changes: Any) -> AuxiliaryView:
    """The live route, which names a version."""
    leads = (("web", 80), ("web-preview", 80))
    return replace(AuxiliaryView(OBJECT, names_version=short(digest(names)) if names else "", ports=leads), **changes)


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
        f"name {each.number or 'none'}{_at(each)}"
        if isinstance(each, act.ApplyAuxiliaryObject)
        else f"preview {each.digest}"
        for each in found
    ]


def _at(action: act.ApplyAuxiliaryObject) -> str:
    """Its ports, where they are not all 80."""
    ports = [port for _, port in action.ports]
    return f" at {', '.join(map(str, ports))}" if set(ports) != {80} else ""


LONG = (active(1), candidate(2, available_since=NOW - timedelta(hours=1)))
ONE, TWO, LATE = (active(1),), (active(1), candidate(2, available_since=NOW)), (active(1), candidate(2))
DONE = {
    "there is none: it is created, and names what the preview shows": (routed(*TWO, shows=2, view=None), ["name 2"]),
    "all is well": (routed(*TWO, shows=2, view=live(2)), []),
    "it names nothing yet": (routed(*TWO, shows=2, view=live()), ["name 2"]),
    "somebody changed it": (routed(*TWO, shows=2, view=live(2, drifted=True)), ["name 2"]),
    "the preview is to move: it names nothing first, and the preview waits": (
        routed(*TWO, shows=1, view=live(1)),
        ["name none"],
    ),
    "it names nothing any more: the preview moves": (routed(*TWO, shows=1, view=live()), [f"preview {digest(2)}"]),
    "it is somebody else's: the preview does not wait for it": (
        routed(*TWO, shows=1, view=live(1, owner="Helm's")),
        [f"preview {digest(2)}"],
    ),
    "it cannot be read: likewise": (routed(*TWO, shows=1, view=live(1, trouble="no rights")), [f"preview {digest(2)}"]),
    "it cannot be written for half a minute, whatever the reason: likewise": (
        routed(*LATE, shows=1, view=live(1)),
        [f"preview {digest(2)}", "name none"],
    ),
    "until then the preview waits": (
        routed(active(1), candidate(2, available_since=NOW - timedelta(seconds=29)), shows=1, view=live(1)),
        ["name none"],
    ),
    "and then it does not": (
        routed(active(1), candidate(2, available_since=NOW - timedelta(seconds=30)), shows=1, view=live(1)),
        [f"preview {digest(2)}", "name none"],
    ),
    "it cannot be written: likewise": (
        routed(*TWO, shows=1, view=live(1), observed={"refused": "no rights"}),
        [f"preview {digest(2)}", "name none"],
    ),
    "the preview Service is somebody else's: live traffic does not wait for it": (
        routed(*TWO, shows=2, view=None, observed={"preview_service": service("web-preview", 0, ours=False)}),
        ["name none"],
    ),
    "the preview Service is somebody else's by now: no request is led there": (
        routed(*TWO, shows=2, view=live(), observed={"preview_service": service("web-preview", 0, ours=False)}),
        ["name none"],
    ),
    "and then all is well": (
        routed(
            *TWO,
            shows=2,
            view=live(ports=(("web", 80),)),
            observed={"preview_service": service("web-preview", 0, ours=False)},
        ),
        [],
    ),
    "the Services are not there yet": (routed(*TWO, shows=0, view=None), []),
    "the Services do not have its port: it leads to the one that they have": (
        routed(*TWO, shows=2, view=None, ports='[{"port":81}]'),
        ["name 2 at 81, 81"],
    ),
    "the Services have another port since a rollback: it follows them": (
        routed(*TWO, shows=2, view=live(2), ports='[{"port":81}]'),
        ["name 2 at 81, 81"],
    ),
    "likewise while suspended": (
        routed(*TWO, shows=2, view=live(2), ports='[{"port":81}]', spec=replace(PREVIEW, suspend=Suspension("x"))),
        ["name 2 at 81, 81"],
    ),
    "the preview has the new port already, the live Service not yet": (
        routed(*TWO, shows=2, view=live(2), observed={"preview_service": service("web-preview", 2, ports=OTHER)}),
        ["name 2 at 80, 81"],
    ),
    "the Services have several ports, and none is Git's": (
        routed(*TWO, shows=2, view=live(2, drifted=True), ports='[{"name":"a","port":81},{"name":"b","port":82}]'),
        [],
    ),
    "the live Service is somebody else's": (
        routed(*TWO, shows=2, view=None, observed={"active_service": service("web", 1, ports=PORTS, ours=False)}),
        [],
    ),
    "the live Service does not select what serves": (
        routed(*TWO, shows=2, view=None, observed={"active_service": service("web", 2, ports=PORTS)}),
        [],
    ),
    "nobody answers behind the live Service": (
        routed(
            *TWO, shows=2, view=None, observed={"active_service": service("web", 1, ports=PORTS, ready_endpoints=0)}
        ),
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


def test_the_route_of_before_leads_until_the_one_of_another_kind_is_live() -> None:
    other = AuxiliaryObject("GRPCRoute", "web")
    fields = {"desired": {"auxiliary_objects": (other,), "route": AppRoute(other, 80)}}
    record = {"auxiliary_objects": (OBJECT, other)}

    def deleted(*views: AuxiliaryView) -> bool:
        state = routed(*TWO, shows=2, view=live(2), record=record, observed={"auxiliary_objects": views}, **fields)
        return any(isinstance(each, act.DeleteAuxiliaryObject) for each in decided(state).actions)

    assert not deleted(live(2))
    assert not deleted(live(2), AuxiliaryView(other, trouble="install the Gateway API"))
    assert deleted(live(2), replace(live(2), auxiliary_object=other))


def test_a_route_is_looked_at_again_within_a_minute() -> None:
    state = routed(*TWO, shows=2, view=live(2))
    assert decided(state).wake_at == NOW + timedelta(minutes=1)


def test_a_route_that_left_git_is_deleted() -> None:
    state = routed(*TWO, shows=2, view=live(2), desired={"auxiliary_objects": (), "route": None})
    assert [each for each in decided(state).actions if isinstance(each, act.DeleteAuxiliaryObject)] == [
        act.DeleteAuxiliaryObject(OBJECT, "it left Git")
    ]


LEFT = {
    "it is ours": (AuxiliaryView(OBJECT), {}, True),
    "it is ours, and the folder cannot be read whole": (AuxiliaryView(OBJECT), {"whole": False}, True),
    "it is somebody else's": (AuxiliaryView(OBJECT, owner="theirs"), {}, False),
    "it is being deleted": (AuxiliaryView(OBJECT, deleting=True), {}, False),
    "nobody knows whether it is there": (AuxiliaryView(OBJECT, trouble="no answer"), {}, True),
}


@pytest.mark.parametrize("case", LEFT)
def test_a_route_that_is_found_is_remembered_though_nobody_names_it_where(case: str) -> None:
    view, desired, remembered = LEFT[case]
    state = world(active(1), observed={"auxiliary_objects": (view,)}, desired=desired)
    assert decided(state).record.last_read.auxiliary_objects == ((OBJECT,) if remembered else ())


def test_what_a_gateway_has_against_the_route_is_said() -> None:
    state = routed(*TWO, shows=2, view=live(2, refused="a Gateway refuses HTTPRoute shop/web: NotAllowedByListeners: "))
    (ready,) = [each for each in decided(state).conditions if each.type == "Ready"]
    assert (ready.status, "NotAllowedByListeners" in ready.message) == (False, True)


# --- the hosts of the candidate ---

OF_CANDIDATE = AuxiliaryObject("HTTPRoute", "web.preview")
GRPC = AuxiliaryObject("GRPCRoute", "web.preview")
GRPC_ROUTE = replace(ROUTE, preview=GRPC)
NAMED, FOR_ALL = "{digest}.preview.example.com", "preview.example.com"


def hosted(
    *versions: Any,
    shows: int,
    names: int | None,
    preview: int = 0,
    hosts: tuple[str, ...] = (NAMED,),
    otherwise: PreviewWithoutCandidate = PreviewWithoutCandidate.NONE,
    suspend: Suspension | None = None,
    observed: dict[str, Any] | None = None,
    desired: dict[str, Any] | None = None,
    **changes: Any,
) -> World:
    """A world in which the route of the candidate's hosts names a version; None: it does not exist."""
    spec = manual(preview_service="web-preview", preview_hosts=hosts, preview_without_candidate=otherwise)
    leads = (("web-preview", 80),)
    named = short(digest(names)) if names else ""
    own = replace(AuxiliaryView(OF_CANDIDATE, names_version=named, ports=leads), **changes)
    main = live((preview or shows) if shows == (preview or shows) else 0)
    views = (main, own) if names is not None else (main,)
    both = (OBJECT, OF_CANDIDATE)
    return routed(
        *versions,
        shows=shows,
        view=None,
        preview=preview,
        spec=replace(spec, suspend=suspend),
        desired=desired or {"auxiliary_objects": both, "route": replace(ROUTE, preview=OF_CANDIDATE)},
        record={"auxiliary_objects": both},
        observed={"auxiliary_objects": views, **(observed or {})},
    )


def hosts_done(state: World) -> list[str]:
    """What is to be done about that route and the preview, with why it is deleted."""
    found = list[str]()
    for each in decided(state).actions:
        match each:
            case act.ApplyAuxiliaryObject(auxiliary_object=one) if one == OF_CANDIDATE:
                found.append(f"name {each.number or 'none'}{_at(each)}")
            case act.DeleteAuxiliaryObject(auxiliary_object=one) if one == OF_CANDIDATE:
                found.append(f"delete: {each.reason}")
            case act.PointPreview():
                found.append(f"preview {each.digest}")
    return found


LIVE = PreviewWithoutCandidate.LIVE
MOVES, NOBODY = "delete: its hosts are for a version that the preview leaves", "delete: there is no candidate"
AT_HOSTS = {
    "a candidate is shown: it is created": (hosted(*TWO, shows=2, names=None), ["name 2"]),
    "all is well": (hosted(*TWO, shows=2, names=2), []),
    "somebody changed it": (hosted(*TWO, shows=2, names=2, drifted=True), ["name 2"]),
    "no candidate: there is none": (hosted(*ONE, shows=1, names=None), []),
    "no candidate any more: it goes": (hosted(*ONE, shows=1, names=2), [MOVES]),
    "no candidate any more, the preview shows it still: it goes first": (
        hosted(*ONE, shows=2, names=2, preview=1),
        [MOVES],
    ),
    "no candidate, and its hosts are to lead to what serves": (
        hosted(*ONE, shows=1, names=None, otherwise=LIVE),
        ["name 1"],
    ),
    "the preview is to move: it goes first, and the preview waits": (
        hosted(*TWO, shows=1, names=1, preview=2, otherwise=LIVE),
        [MOVES],
    ),
    "it waits for that as long as it takes": (hosted(*LATE, shows=1, names=1, preview=2, otherwise=LIVE), [MOVES]),
    "it is being deleted: the preview waits": (
        hosted(*TWO, shows=1, names=1, preview=2, otherwise=LIVE, deleting=True),
        [],
    ),
    "it is gone: the preview moves": (hosted(*TWO, shows=1, names=None, preview=2), [f"preview {digest(2)}"]),
    "the preview is to move, and a host is for every candidate: all of it goes all the same": (
        hosted(*TWO, shows=1, names=1, preview=2, hosts=(NAMED, FOR_ALL), otherwise=LIVE),
        [MOVES],
    ),
    "its hosts are for every candidate: it names none": (
        hosted(*TWO, shows=2, names=None, hosts=(FOR_ALL,)),
        ["name none"],
    ),
    "its hosts are for every candidate: the preview moves": (
        hosted(*TWO, shows=1, names=0, preview=2, hosts=(FOR_ALL,)),
        [f"preview {digest(2)}"],
    ),
    "its hosts are for every candidate, and there is none": (
        hosted(*ONE, shows=1, names=0, hosts=(FOR_ALL,)),
        [NOBODY],
    ),
    "app.yaml asks for none any more: it goes before the preview moves": (
        hosted(*TWO, shows=1, names=1, preview=2, desired={"auxiliary_objects": (OBJECT,), "route": ROUTE}),
        [MOVES],
    ),
    "app.yaml is broken: likewise": (
        hosted(*TWO, shows=1, names=1, preview=2, desired={"auxiliary_objects": (), "route": None, "whole": False}),
        [MOVES],
    ),
    "it is of another kind now: likewise": (
        hosted(*TWO, shows=1, names=1, preview=2, desired={"auxiliary_objects": (OBJECT, GRPC), "route": GRPC_ROUTE}),
        [MOVES],
    ),
    "it is somebody else's: the preview does not wait for it": (
        hosted(*TWO, shows=1, names=1, preview=2, owner="Helm's"),
        [f"preview {digest(2)}"],
    ),
    "the preview Service is somebody else's by now: nobody is led there": (
        hosted(*TWO, shows=2, names=2, observed={"preview_service": service("web-preview", 0, ours=False)}),
        ["delete: Service web-preview is somebody else's"],
    ),
    "the Service has another port: it follows": (
        hosted(*TWO, shows=2, names=2, observed={"preview_service": service("web-preview", 2, ports=OTHER)}),
        ["name 2 at 81"],
    ),
    "while suspended it stays": (hosted(*TWO, shows=2, names=None, suspend=Suspension("a holiday")), []),
}


@pytest.mark.parametrize("case", AT_HOSTS)
def test_the_hosts_of_the_candidate(case: str) -> None:
    state, wanted = AT_HOSTS[case]
    state = state.with_record(decided(state).record)
    assert hosts_done(state) == wanted


WAYS = {
    "to a new candidate": (hosted(*TWO, shows=1, names=1, otherwise=LIVE), 2),
    "to one that has been available for an hour": (hosted(*LONG, shows=1, names=1, otherwise=LIVE), 2),
    "back to what serves": (hosted(*ONE, shows=2, names=2), 1),
    "to a new candidate, beside a host for every one": (
        hosted(*TWO, shows=1, names=1, hosts=(NAMED, FOR_ALL), otherwise=LIVE),
        2,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_host_with_a_digest_never_leads_to_another_version(way: str) -> None:
    """Whatever ends the agent between two of its writes."""
    state, wanted = WAYS[way]
    for _ in range(10):
        decision = decided(state)
        state = state.with_record(decision.record)
        for action in decision.actions:
            views = {view.auxiliary_object: view for view in state.observed.auxiliary_objects}
            shown = state.observed.preview_service
            match action:
                case act.PointPreview():
                    shown = service("web-preview", 1 if action.digest == digest(1) else 2, ports=PORTS)
                case act.ApplyAuxiliaryObject(auxiliary_object=one):
                    views[one] = AuxiliaryView(one, names_version=short(action.digest), ports=action.ports)
                case act.DeleteAuxiliaryObject(auxiliary_object=one):
                    views.pop(one)
            observed = replace(state.observed, preview_service=shown, auxiliary_objects=tuple(views.values()))
            state = replace(state, observed=observed)
            own = views.get(OF_CANDIDATE)
            assert shown is not None
            assert own is None or own.names_version == shown.digest
    assert state.observed.preview_service is not None
    assert state.observed.preview_service.digest == short(digest(wanted))


def test_the_address_is_said_once_the_route_names_the_candidate() -> None:
    def said(state: World) -> str:
        state = state.with_record(decided(state).record)
        return next(each.message for each in decided(state).conditions if each.type == "CandidateReady")

    assert (
        said(hosted(*TWO, shows=2, names=2))
        == f"2 (v2) is available, at http://{short(digest(2))}.preview.example.com/"
    )
    assert said(hosted(*TWO, shows=2, names=None)) == "2 (v2) is available"
    refused = "2 (v2) is available; its previewHosts lead nowhere: no such listener"
    assert said(hosted(*TWO, shows=2, names=2, refused="no such listener")) == refused

"""Which ports a Service has while it selects a version: Git's if that version can serve them (DESIGN §3, §4.2)."""

from dataclasses import replace

import pytest

from gitops_bg.core.checks.ports import (
    PortSources,
    choose,
    container_ports,
    copied_ports,
    derived_ports,
    ports_of,
    promoted_ports,
    retargeted,
    sources_of,
    unservable,
    written,
)
from gitops_bg.core.model.actions import PointPreview
from gitops_bg.core.model.conditions import conditions_that_hold
from gitops_bg.core.model.desired import Missing, Primary
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.version import ServicePorts, Snapshot
from gitops_bg.core.names import replica_set_name
from gitops_bg.core.plan.services import keep_preview, switch_traffic
from gitops_bg.core.status.conditions import OTHERS
from gitops_bg.core.transitions.switching import record_ports
from tests.core.shown import ABSENT, shown_by
from tests.core.simulation import APP, manual
from tests.core.worlds import NOW, active, candidate, decided, legacy, pods, primary, service, target, world


def calling(*names: str) -> Snapshot:
    """A version whose container has ports of these names, 8080 and up."""
    ports = [{"name": name, "containerPort": 8080 + place} for place, name in enumerate(names)]
    return snapshot_of({"spec": {"containers": [{"image": "web", **({"ports": ports} if ports else {})}]}})


def to(*targets: str | int, protocol: str = "TCP") -> str:
    return written({"port": 80 + place, "protocol": protocol, "targetPort": one} for place, one in enumerate(targets))


HTTP, WEB, BOTH, BARE = calling("http").text, calling("web").text, calling("http", "web").text, calling().text
SIDECAR = snapshot_of(
    {
        "spec": {
            "containers": [{"ports": [{"name": "http", "containerPort": 8080}]}],
            "initContainers": [
                {"restartPolicy": "Always", "ports": [{"name": "mesh", "containerPort": 15000}]},
                {"ports": [{"name": "setup", "containerPort": 1}]},
            ],
        }
    }
).text

SERVES = {
    "a name that a container has": (HTTP, to("http"), ()),
    "a name that none has": (HTTP, to("web"), (("web", "TCP"),)),
    "one of two": (HTTP, to("http", "web"), (("web", "TCP"),)),
    "a name of another protocol": (HTTP, to("http", protocol="UDP"), (("http", "UDP"),)),
    "a number that is declared": (HTTP, to(8080), ()),
    "a number that is not": (HTTP, to(9090), ((9090, "TCP"),)),
    "any number, where nothing is declared": (BARE, to(9090), ()),
    "a name, where nothing is declared": (BARE, to("http"), (("http", "TCP"),)),
    "a port without a target is its own": (HTTP, '[{"port":8080}]', ()),
    "the name of a sidecar's port": (SIDECAR, to("mesh"), ()),
    "not that of an init container's, which ends": (SIDECAR, to("setup"), (("setup", "TCP"),)),
    "no ports at all": (HTTP, "[]", ()),
}


@pytest.mark.parametrize("name", SERVES)
def test_what_pods_serve(name):
    template, ports, missing = SERVES[name]
    assert unservable(template, ports) == missing


LIVE = PortSources(git=to("http"), template=HTTP, kept="", promoted="", live="", there="", serving=True, wanted=False)
OLD, OLDER = to("http", "http"), to("http", 8080)
CHOSEN = {
    "Git's, which it serves": (LIVE, to("http")),
    "Git's, though it was promoted with others": (replace(LIVE, promoted=OLD, kept=OLD), to("http")),
    "what it serves with, where Git's are for another": (replace(LIVE, git=to("web"), kept=OLD, promoted=OLDER), OLD),
    "what it was promoted with, where nothing is remembered": (replace(LIVE, git=to("web"), promoted=OLD), OLD),
    "what it has, where nothing else is known": (replace(LIVE, git=to("web"), live=OLD), OLD),
    "a number of its own that is declared nowhere": (
        replace(LIVE, git=to("http", 9090), kept=to(9090)),
        to("http", 9090),
    ),
    "for what is to serve: what it is promoted with": (
        replace(LIVE, git=to("web"), kept=OLD, promoted=OLDER, serving=False),
        OLDER,
    ),
    "for what is to serve again, where main is not back yet": (
        replace(LIVE, git=to("web"), kept=OLD, serving=False),
        OLD,
    ),
    "for the target's version: Git's, a number that nobody declares too": (
        replace(LIVE, git=to("http", 9090), serving=False, wanted=True),
        to("http", 9090),
    ),
    "for another, of which nothing is known: Git's, that lead to its containers": (
        replace(LIVE, git=to("web"), serving=False),
        to("http"),
    ),
    "for another, whatever the Service has now": (
        replace(LIVE, git=to("web"), there=to("web", "web"), serving=False),
        to("http"),
    ),
    "those of its template, where Git has no manifest": (replace(LIVE, git="", kept=OLD), derived_ports(HTTP)),
    "what it serves with, where main cannot be read": (replace(LIVE, git=None, kept=OLD), OLD),
    "those that are there and that it can serve, where main cannot be read": (
        replace(LIVE, git=None, there=to("http")),
        to("http"),
    ),
    "those that are there, that lead to its containers, where main cannot be read": (
        replace(LIVE, git=None, there=to("web")),
        to("http"),
    ),
    "those of its template, where none are there, and main cannot be read": (
        replace(LIVE, git=None),
        derived_ports(HTTP),
    ),
    "none are better known than those it has": (replace(LIVE, git=None, template=BARE), ""),
    "none, as Git says": (replace(LIVE, git="[]", kept=OLD), "[]"),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_chosen(name):
    known, ports = CHOSEN[name]
    assert choose(known) == ports


def calls(*ports: tuple[str, int, str | int]) -> str:
    return written({"name": name, "port": number, "targetPort": leads_to} for name, number, leads_to in ports)


UNNAMED = snapshot_of({"spec": {"containers": [{"ports": [{"containerPort": 8080}]}]}}).text
ODD = snapshot_of(
    {"spec": {"containers": [{"ports": [{"containerPort": "a"}, {"name": [], "containerPort": 1}]}]}}
).text
# ports, the template: where they lead then
RETARGETED = {
    "where they lead already": (to("http"), HTTP, to("http")),
    "to the only port of the containers": (to("web"), HTTP, to("http")),
    "a number, too": (to(9090), HTTP, to("http")),
    "to a number, where it has no name": (to("web"), UNNAMED, to(8080)),
    "to the next that none leads to": (to("http", "admin"), BOTH, to("http", "web")),
    "nowhere, where all are called": (to("http", "admin"), HTTP, to("http", "admin")),
    "one after the other, as far as there are any": (to("a", "b", "c"), BOTH, to("http", "web", "c")),
    "to that of its name first": (
        calls(("x", 80, "a"), ("http", 81, "b")),
        BOTH,
        calls(("x", 80, "web"), ("http", 81, "http")),
    ),
    "to that of its number first": (
        calls(("x", 80, "a"), ("y", 8080, "b")),
        BOTH,
        calls(("x", 80, "web"), ("y", 8080, "http")),
    ),
    "nowhere, where it is of another protocol": (to("web", protocol="UDP"), HTTP, to("web", protocol="UDP")),
    "nobody knows where, where containers declare none": (to("web"), BARE, to("web")),
    "with all else that it says": (
        '[{"name":"a","nodePort":30080,"port":80,"targetPort":"web","appProtocol":"h2c"}]',
        HTTP,
        '[{"name":"a","nodePort":30080,"port":80,"targetPort":"http","appProtocol":"h2c"}]',
    ),
    "to its target, where its number was one": ('[{"port":80}]', HTTP, '[{"port":80,"targetPort":"http"}]'),
    "none": ("[]", HTTP, "[]"),
    "nothing is known": ("", HTTP, ""),
}


@pytest.mark.parametrize("name", RETARGETED)
def test_ports_lead(name):
    """Found so: a guess gave the live Service another port than clients call."""
    ports, template, led = RETARGETED[name]
    assert retargeted(ports, template) == led


# --- in a world: v1 calls its port http, v2 calls it web ---

V1, V2 = calling("http"), calling("web")
SERVED = (ServicePorts("web", to("http")),)


def moving(*versions, **more):
    """Main has v2's target and the Service for it."""
    shown = {"version1": V1, "version2": V2}
    versions = tuple(replace(one, snapshot=shown[f"version{one.number}"]) for one in versions)
    live = next(one for one in versions if one.stage == "active")
    state = world(*versions, sets=())
    record = replace(
        state.record,
        routing=replace(state.record.routing, traffic=live.digest, preview=live.digest),
        git=replace(state.record.git, named=(live.digest,)),
        **more.pop("record", {}),
    )
    named = more.pop("named", live)
    wanted = {"target": replace(target(2), snapshot=V2), "primary": promoted(named), **more}
    desired = replace(state.desired, ports=(ServicePorts("web", to("web")),), **wanted)
    view = replace(service("web", 1), digest=live.digest[3:13], ports=to("http"))
    sets = tuple(
        replace(pods(one.number), name=replica_set_name(APP, one.number, one.digest), snapshot=one.snapshot)
        for one in versions
    )
    observed = replace(state.observed, active_service=view, replica_sets=sets)
    return replace(state, record=record, desired=desired, observed=observed)


def promoted(version, *services: ServicePorts) -> Primary:
    return replace(primary(version.number), snapshot=version.snapshot, services=services)


ALIKE = ("web", "web-preview")
KEPT = tuple(ServicePorts(name, OLD) for name in ALIKE)
PROMOTED = tuple(ServicePorts(name, OLDER) for name in ALIKE)
KNOWN = {
    "what serves keeps what it has": ("web", 1, OLD),
    "what the preview shows as well": ("web-preview", 1, OLD),
    "what it is to show gets what primary.yaml says": ("web-preview", 2, OLDER),
    "whatever the preview shows, live traffic keeps what it has": ("web", 2, OLD),
}


@pytest.mark.parametrize("name", KNOWN)
def test_ports_of_version_1_where_git_has_those_of_version_2(name):
    name_of_service, shown, ports = KNOWN[name]
    state = moving(active(1, ports=KEPT), candidate(2))
    wanted = promoted(state.record.numbered(1), *PROMOTED)
    git = tuple(ServicePorts(one, to("web")) for one in ALIKE)
    state = replace(state, desired=replace(state.desired, ports=git, primary=wanted))
    state = state.with_part(replace(state.record.routing, preview=(V1, V2)[shown - 1].digest))
    assert ports_of(state, state.record.numbered(1), name_of_service) == ports


def test_what_primary_yaml_says_of_one_version_counts_for_no_other():
    state = moving(active(1), candidate(2))
    promotion = promoted(state.record.numbered(1), *PROMOTED)
    desired = replace(state.desired, primary=promotion)
    assert promoted_ports(desired, state.record.numbered(1)) == PROMOTED
    assert promoted_ports(desired, state.record.numbered(2)) == ()


def test_template_that_the_record_does_not_keep_is_looked_up():
    state = moving(active(1), candidate(2))
    state = replace(state, observed=replace(state.observed, active_service=None))
    bare = replace(state.record.numbered(1), snapshot=Snapshot(V1.digest, ""))
    assert ports_of(state, bare, "web") == to("http")


V_BARE, NUMBER = calling(), '[{"name":"http","port":80,"protocol":"TCP","targetPort":9090}]'
OF_NODE = '[{"name":"http","nodePort":30080,"port":80,"protocol":"TCP","targetPort":9090}]'
OF_PREVIEW = {
    "those that the live active Service has, where no container declares any": ({}, NUMBER),
    "its own manifest's": ({"git": to(8081)}, to(8081)),
    "none, as its own manifest says": ({"git": "[]"}, "[]"),
    "those of the template, where it declares some": ({"snapshot": V1}, derived_ports(HTTP)),
    "unknown, where the live one has none": ({"live": "[]"}, ""),
    "unknown, where there is no live one": ({"live": None}, ""),
    "unknown, where main cannot be read": ({"git": None}, ""),
}


@pytest.mark.parametrize("name", OF_PREVIEW)
def test_preview_service_has(name):
    """Where Git has no manifest of an active Service to copy; those are in `Desired.ports` already."""
    facts, ports = OF_PREVIEW[name]
    of = replace(active(1), snapshot=facts.get("snapshot", V_BARE))  # type: ignore[attr-defined]
    state = world(of, spec=manual(preview_service="web-preview"), sets=())
    git, live = facts.get("git", ""), facts.get("live", OF_NODE)  # type: ignore[attr-defined]
    listed = () if git is None else (ServicePorts("web", ""), ServicePorts("web-preview", git))
    view = replace(service("web", 1), ports=live) if live else None
    observed = replace(state.observed, active_service=view)
    state = replace(state, observed=observed, desired=replace(state.desired, ports=listed, target=Missing.ABSENT))
    assert ports_of(state, of, "web-preview") == ports
    assert ports_of(state, of, "web") != NUMBER, "the active one copies from nobody"


COPIED = {
    "what every Service may have": (
        '[{"appProtocol":"http","name":"a","nodePort":30080,"port":80,"protocol":"UDP","targetPort":"http"}]',
        '[{"name":"a","port":80,"protocol":"UDP","appProtocol":"http","targetPort":"http"}]',
    ),
    "each of several": (
        '[{"name":"a","port":1},{"name":"b","port":2}]',
        '[{"name":"a","port":1},{"name":"b","port":2}]',
    ),
    "none of none": ("[]", ""),
    "none of nothing": ("", ""),
}


@pytest.mark.parametrize("name", COPIED)
def test_copied(name):
    ports, copied = COPIED[name]
    assert copied_ports(ports) == copied


MEANT_FOR = {
    "the target's version: Git's, a number that nobody declares too": ({}, to("web", 9090)),
    "another one: Git's, of which none else leads to its containers": ({"target": target(3)}, to("web", 9090)),
    "nobody knows which: so, too": ({"target": Missing.UNREADABLE}, to("web", 9090)),
}


@pytest.mark.parametrize("name", MEANT_FOR)
def test_ports_of_git_are_meant_for(name):
    changes, ports = MEANT_FOR[name]
    state = moving(active(1), candidate(2))
    git = (ServicePorts("web", to("web", 9090)),)
    state = replace(state, desired=replace(state.desired, ports=git, **changes))
    assert ports_of(state, state.record.numbered(2), "web") == ports


def test_ports_that_a_service_has_are_those_of_the_version_that_it_selects():
    state = moving(active(1), candidate(2))
    first, second = (
        sources_of(state.desired, one, "web", state.observed.active_service, serving=False)
        for one in state.record.versions
    )
    assert (first.live, first.there) == (to("http"), to("http"))
    assert (second.live, second.there) == ("", to("http"))


def replacing(state, ports: tuple[ServicePorts, ...]):
    """The same with other ports in Git."""
    return replace(state, desired=replace(state.desired, ports=ports))


V1_NAME = "1 (v1)"


def remembered(state, number=1):
    return record_ports(state).record.numbered(number).ports


def test_what_serves_is_remembered_with_the_ports_it_has():
    assert remembered(moving(active(1), candidate(2))) == SERVED
    assert remembered(moving(active(1), candidate(2)), 2) == ()


def test_what_served_before_anybody_remembered_its_ports_is_remembered_as_it_was_promoted():
    former = replace(legacy(1), snapshot=V1)
    state = moving(former, active(2), named=former, primary=promoted(former, *SERVED))
    assert remembered(state) == SERVED


PREVIEWED = {
    "what the preview shows": (V2, "web-preview", (ServicePorts("web-preview", to("web")),)),
    "not what it does not show": (V1, "web-preview", ()),
    "nothing without a preview": (V2, None, ()),
}


@pytest.mark.parametrize("name", PREVIEWED)
def test_ports_of_the_preview_are_remembered_of(name):
    shown, service_, ports = PREVIEWED[name]
    state = replacing(moving(active(1), candidate(2)), (ServicePorts("web-preview", to("web")),))
    state = replace(state, spec=manual(preview_service=service_))
    assert remembered(state.with_part(replace(state.record.routing, preview=shown.digest)), 2) == ports


def test_nothing_is_remembered_of_ports_that_the_template_says():
    state = moving(active(1), candidate(2))
    assert remembered(replace(state, desired=replace(state.desired, ports=(ServicePorts("web", ""),)))) == ()


def served_with(*targets: str | int) -> tuple[ServicePorts, ...]:
    return (ServicePorts("web", to(*targets)),)


IN_GIT = {
    "ports that only the candidate has: they wait for its promotion": (
        moving(active(1, ports=SERVED), candidate(2)),
        f"Service web keeps its ports: no container of {V1_NAME} has the port web that Git says",
    ),
    "a number that nobody declares, and that it is served with": (
        replacing(moving(active(1, ports=served_with(9090)), candidate(2)), served_with(9090)),
        "",
    ),
    "a name that it is served with, though nobody has it": (
        replacing(moving(active(1, ports=served_with("web")), candidate(2)), served_with("web")),
        "",
    ),
    "ports that it serves": (
        replacing(moving(active(1), candidate(2)), SERVED),
        "",
    ),
    "ports of another Service": (
        replacing(moving(active(1), candidate(2)), (ServicePorts("web-preview", to("web")),)),
        "",
    ),
    "nothing of this Service": (replacing(moving(active(1), candidate(2)), ()), ""),
}


@pytest.mark.parametrize("name", IN_GIT)
def test_condition_of_services_where_git_says(name):
    state, message = IN_GIT[name]
    shown = shown_by(conditions_that_hold(OTHERS, state))
    assert shown["ServicesInGit"] == ((False, "PortsWait", message) if message else ABSENT)


def test_selector_and_ports_move_in_one_write():
    state = moving(active(1, ports=SERVED), candidate(2))
    decided_one = Switch(V1.digest, V2.digest, SwitchKind.PROMOTION, NOW)
    (write,) = switch_traffic(state.with_part(replace(state.record.routing, switch=decided_one)))
    assert (write.digest, write.ports) == (V2.digest, to("web"))


def test_preview_gets_the_ports_of_what_it_is_to_show():
    state = moving(active(1), candidate(2))
    state = replace(state, desired=replace(state.desired, ports=(ServicePorts("web-preview", to("web")),)))
    shown = replace(service("web-preview", 1), digest=V1.digest[3:13], ports=to("http"))
    state = replace(state, observed=replace(state.observed, preview_service=shown))
    wanted = state.with_part(replace(state.record.routing, preview=V2.digest))
    (point,) = [action for action in keep_preview(wanted) if isinstance(action, PointPreview)]
    assert (point.digest, point.ports) == (V2.digest, to("web"))


def test_way_back_brings_the_ports_back():
    state = moving(legacy(1, ports=SERVED), active(2))
    back = Switch(V2.digest, V1.digest, SwitchKind.ROLLBACK, NOW)
    (write,) = switch_traffic(state.with_part(replace(state.record.routing, switch=back)))
    assert (write.digest, write.ports) == (V1.digest, to("http"))


@pytest.mark.parametrize(("services", "offered"), [((), True), ((ServicePorts("web", to("web")),), False)])
def test_offer_whose_ports_are_old_is_made_again(services, offered):
    state = moving(active(1, ports=SERVED), candidate(2))
    git = replace(state.observed.git, promotion=PromotionBranch(V2.digest, V1.digest, services))
    state = replace(state, observed=replace(state.observed, git=git))
    assert any(line.startswith("offer") for line in map(str, decided(state).actions)) is offered


DECLARED = {
    '{"name":"http","containerPort":80}': {("http", "TCP"), (80, "TCP")},
    '{"containerPort":53,"protocol":"UDP"}': {(53, "UDP")},
    '{"name":[[]],"containerPort":80}': {(80, "TCP")},
    '{"name":{},"containerPort":[80],"protocol":[]}': set(),
    "7": set(),
}


@pytest.mark.parametrize("port", DECLARED)
def test_ports_of_any_type_are_read_before_the_api_server_has_seen_them(port: str) -> None:
    assert container_ports(f'{{"spec":{{"containers":[{{"ports":[{port}]}}]}}}}') == DECLARED[port]

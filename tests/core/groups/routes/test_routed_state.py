"""Which routes a version has when older services serve in it, to which port, and who keeps what two claim."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.groups.inputs import DesiredGroup, DesiredService, GroupSpec
from gitops_bg.core.groups.world import late_routes, with_routes
from gitops_bg.core.model.auxiliary import Backend, HttpRule
from tests.core.groups.notation import group
from tests.core.groups.simulation import store, version

FOLDERS = {
    "v1": version(old="/t"),
    "v2": version(mid="/m", same="/t"),
    "v3": version(new="/t"),
}
ROWS = {
    "the route of a service goes with it": ("v1L v2A", "old@v2(v1) mid@v2", "/t->old@v2(v1) /m->mid@v2"),
    "the newer of two services has what both claim, and the version before keeps the older's": (
        "v1R v2L v3A",
        "old@v3(v1) mid@v2 new@v3",
        "/t->old@v2(v1) /m->mid@v2 /t->new@v3",
    ),
    "without a version before, it stays where it was born": (
        "v1R v3A",
        "old@v3(v1) new@v3",
        "/t->old@v1 /t->new@v3",
    ),
    "also where the version before is older than the service": (
        "v1L v2R v3A",
        "old@v1 mid@v3(v2) new@v3",
        "/t->old@v1 /m->mid@v3(v2) /t->new@v3",
    ),
    "and it never goes to a version that is older than the service": (
        "v1L v2R v3A",
        "same@v3(v2) new@v3",
        "/t->same@v2 /t->new@v3",
    ),
    "a service whose folder is gone has no routes": ("v4A", "lost@v4", ""),
}


@pytest.mark.parametrize("row", ROWS)
def test_routes(row: str) -> None:
    stages, parts, expected = ROWS[row]
    state = with_routes(group(stages, parts), DesiredGroup(GroupSpec("v1"), FOLDERS))
    found = {
        f"{each.match.path}->{each.service}@{each.version}"
        + ("" if each.version == each.initial_version else f"({each.initial_version})")
        for each in state.routes
    }
    assert found == set(expected.split())


@pytest.mark.parametrize(("remembered", "late"), [("/a->s@v1 /a->s@v2", ["/b"]), ("/a->s@v2", [])])
def test_a_route_is_late_only_where_it_is_known_what_the_legacy_version_had(remembered: str, late: list[str]) -> None:
    folders = {"v1": version(s="/a /b"), "v2": version(s="/a /c")}
    found = late_routes(group("v1L v2A", f"s@v1 s@v2 {remembered}"), DesiredGroup(GroupSpec("v2"), folders))
    assert [route.match.path for _, route in found] == late


PORTS: dict[str, tuple[int, set[int], int]] = {
    "Git's, once the Service has it": (8080, {80, 8080}, 8080),
    "the one before, as long as the Service has Git's not": (8080, {80, 443}, 80),
    "the only one of the Service, where it has neither": (8080, {443}, 443),
    "Git's, where nobody can tell": (8080, {443, 444}, 8080),
    "the one before, as long as there is no Service": (8080, set(), 80),
}


@pytest.mark.parametrize(("git", "has", "expected"), PORTS.values(), ids=PORTS)
def test_a_route_leads_to_a_port_that_its_service_has(git: int, has: set[int], expected: int) -> None:
    world = store(ports={"cart-v1": frozenset({80})})
    world.settle()
    folder = version("1b", cart="/cart /old", auth="/auth")
    routes = tuple(replace(each, port=git) for each in folder.services["cart"].routes)
    world.versions["v1"] = replace(folder, services={**folder.services, "cart": DesiredService(True, routes)})
    world.ports["cart-v1"] = frozenset(has)
    world.settle()
    led = {rule.to.port for each in world.routes.values() for rule in each.rules if is_to(rule, "cart-v1")}
    remembered = {each.port for each in world.record.state.routes if each.service == "cart"}
    assert (led, remembered) == ({expected}, {expected})


def is_to(rule: HttpRule, service: str) -> bool:
    return isinstance(rule.to, Backend) and rule.to.service == service

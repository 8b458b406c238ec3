"""A Service that cannot move (taken, missing, refused) holds up no way back of the others (DESIGN §1.3, I6)."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.actions import Action, ApplyService, MarkService, RepairSelector, SwitchTraffic
from gitops_bg.core.model.record import Event, FormerService, Switch, SwitchKind
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import ServicePorts
from gitops_bg.core.world import World
from tests.core.simulation import Crash, Simulation, deployed, manual, template
from tests.core.worlds import NOW, SECOND, active, candidate, decided, digest, legacy, service, world

SPEC = manual(more_active_services=("admin",))
BACK = Switch(digest(2), digest(1), SwitchKind.ROLLBACK, NOW)
THEIRS = service("admin", 0, ours=False, owner="it is Helm's")


def done(state: World, kind: type[Action]) -> list[Any]:
    """The actions of one kind."""
    return [each for each in decided(state).actions if isinstance(each, kind)]


def rolling_back(web=None, admin=None, *, switch: Switch = BACK, **more):
    """Traffic is on its way from v2 back to v1."""
    others = () if admin is None else (admin,)
    observed = {"active_service": web, "more_active_services": others, **more.pop("observed", {})}
    return world(legacy(1), active(2), spec=SPEC, names_=1, record={"switch": switch}, observed=observed, **more)


V1, V2 = (service("web", number) for number in (1, 2))
ADMIN1, ADMIN2 = (service("admin", number) for number in (1, 2))

MOVED = {
    "all that are ours": (rolling_back(V2, ADMIN2), ["web", "admin"]),
    "one of ours, where the other is somebody else's": (rolling_back(V2, THEIRS), ["web"]),
    "one of ours, before one is made that does not exist": (rolling_back(None, ADMIN2), ["admin", "web"]),
    "one that has not, where the other has": (rolling_back(V1, ADMIN2), ["admin"]),
    "none that is somebody else's": (rolling_back(replace(V2, ours=False), THEIRS), []),
}


@pytest.mark.parametrize("name", MOVED)
def test_each_service_of_ours_goes_back_by_itself(name):
    state, expected = MOVED[name]
    assert [each.name for each in done(state, SwitchTraffic)] == expected


SETTLED = {
    "all have moved": (rolling_back(V1, ADMIN1), True),
    "ours has moved, and the other one is somebody else's": (rolling_back(V1, THEIRS), True),
    "ours has moved, and the other one is not there": (rolling_back(V1), True),
    "one of ours has not": (rolling_back(V1, ADMIN2), False),
    "one of ours was wiped": (rolling_back(V1, service("admin", 0)), False),
    "somebody else's still leads to what is left": (rolling_back(V1, replace(ADMIN2, ours=False)), False),
    "none has": (rolling_back(V2, THEIRS), False),
    "none is there": (rolling_back(), False),
    "none is ours": (rolling_back(replace(V1, ours=False), THEIRS), False),
}


@pytest.mark.parametrize("name", SETTLED)
def test_rollback_is_true_once_no_service_leads_to_what_was_left(name):
    state, expected = SETTLED[name]
    record = decided(state).record
    assert (record.routing.traffic == digest(1), record.routing.switch is None) == (expected, expected)
    assert [entry.event for entry in record.ledger].count(Event.ROLLED_BACK) == expected


def test_service_that_was_missing_follows_the_rollback():
    (made,) = done(rolling_back(V1), ApplyService)
    assert (made.name, made.digest) == ("admin", digest(1))


@pytest.mark.parametrize("refused", ["web", "admin"])
def test_refused_write_leaves_the_other_service_on_its_way_back(refused):
    sim = deployed(SPEC)
    sim.push("2")
    sim.settle()
    sim.merge()
    sim.settle()
    sim.refuses = lambda action: isinstance(action, SwitchTraffic) and action.name == refused
    sim.revert_promotion()
    passes(sim)
    led = {"web": sim.active, **sim.more}
    assert led == {name: template("2" if name == refused else "1").digest for name in ("web", "admin")}
    sim.refuses = lambda action: False
    sim.settle()
    assert sim.points_to() == {template("1").digest}
    assert sim.events().count("rolled-back") == 1
    assert sim.moves == sim.recorded_moves()


@pytest.mark.parametrize("refused", ["web", "admin"])
def test_rollback_that_one_service_refuses_stands_until_the_gates_of_what_main_names_instead_are_open(refused):
    """Found so: the Service that had gone back was led forward again, to the version that was to be left."""
    sim = deployed(SPEC)
    sim.push("2")
    sim.settle()
    sim.merge()
    sim.settle()
    sim.refuses = lambda action: isinstance(action, SwitchTraffic) and action.name == refused
    sim.revert_promotion()
    passes(sim)
    gone_back = "admin" if refused == "web" else "web"
    led = lambda: {"web": sim.active, **sim.more}  # noqa: E731
    assert led()[gone_back] == template("1").digest
    sim.bad_tags.add("3")
    sim.push("3")
    sim.set_primary("3", "the fix")
    passes(sim)
    assert led() == {refused: template("2").digest, gone_back: template("1").digest}
    assert sim.record.routing.switch is not None
    assert not sim.record.routing.switch.withdrawn
    sim.refuses = lambda action: False
    sim.settle()
    assert sim.points_to() == {template("1").digest}
    sim.bad_tags.clear()
    sim.settle()
    assert sim.points_to() == {template("3").digest}
    assert sim.moves == sim.recorded_moves()
    assert sim.events().count("rolled-back") == 1


def passes(sim: Simulation) -> None:
    """Some passes of an agent whose writes are refused: it does not get quiet."""
    for _ in range(4):
        sim.step()
        sim.pods_come_up()


# --- a switch that is withdrawn half-way ---

FORWARD = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW, withdrawn=True)
MARK, OLDER = {"withdrawn": "5eed-2"}, {"withdrawn": "5eed-1"}


def half_way(web, admin, *, names_=1, switch=FORWARD, **more):
    """One of two Services has moved when the switch is withdrawn."""
    versions = (active(1), candidate(2)) if switch.from_digest == digest(1) else (legacy(1), active(2), candidate(3))
    record = {"switch": switch, "withdrawals": 2}
    observed = {"active_service": web, "more_active_services": (admin,) if admin else ()}
    return world(*versions, **{"spec": SPEC, **more}, names_=names_, record=record, observed=observed)


WEB = {number: service("web", number, **MARK) for number in (0, 1, 2)}
WITHDRAWN_BACK = replace(BACK, withdrawn=True)
LED_BACK = {
    "one that refuses late writes, though another one may still accept them": (half_way(WEB[2], ADMIN1), ["web"]),
    "not one that may accept a late write": (half_way(V2, ADMIN1), []),
    "not one with the mark of an earlier withdrawal": (half_way(service("web", 2, **OLDER), ADMIN1), []),
    "not one that leads there": (half_way(WEB[1], ADMIN2), []),
    "one that leads nowhere": (half_way(WEB[0], ADMIN1), ["web"]),
    "not one that is somebody else's": (half_way(replace(WEB[2], ours=False), ADMIN1), []),
    "while the app is suspended": (half_way(WEB[2], ADMIN1, spec=replace(SPEC, suspend=Suspension("x"))), ["web"]),
    "not where main names that version again": (half_way(WEB[2], ADMIN1, names_=2), []),
    "a rollback that main takes back": (half_way(WEB[1], ADMIN2, names_=2, switch=WITHDRAWN_BACK), ["web"]),
    "not to bad pods, where another version is to come": (
        half_way(WEB[1], ADMIN2, names_=3, switch=WITHDRAWN_BACK),
        [],
    ),
}


@pytest.mark.parametrize("name", LED_BACK)
def test_service_with_the_mark_is_led_back_at_once(name):
    state, expected = LED_BACK[name]
    assert [each.name for each in done(state, RepairSelector)] == expected


@pytest.mark.parametrize("refused", ["web", "admin"])
def test_switch_that_git_takes_back_half_way_leaves_no_service_that_takes_writes(refused):
    sim = deployed(SPEC)
    sim.push("2")
    sim.settle()
    sim.merge()
    moves = (SwitchTraffic, MarkService, RepairSelector)
    with pytest.raises(Crash):
        sim.step(2)
    assert (sim.active, sim.more) == (template("2").digest, {"admin": template("1").digest})
    sim.refuses = lambda action: isinstance(action, moves) and action.name == refused
    sim.set_primary("1", "revert")
    passes(sim)
    assert sim.active == template("2" if refused == "web" else "1").digest
    sim.refuses = lambda action: False
    sim.settle()
    assert sim.points_to() == {template("1").digest}
    assert sim.events().count("promoted") == 0
    assert sim.moves == sim.recorded_moves()


def test_late_write_to_a_service_without_the_mark_is_taken_back_as_well():
    """It came before the mark: the Service that had been led back stays, and this one follows."""
    late = decided(half_way(WEB[1], ADMIN2))
    assert [one.name for one in late.actions if isinstance(one, MarkService)] == ["admin"]
    assert late.record.routing.traffic == digest(1)
    over = decided(half_way(WEB[1], service("admin", 2, **MARK)))
    assert over.record.routing.switch is None
    assert [one.name for one in over.actions if isinstance(one, RepairSelector)] == ["admin"]
    assert not [one for one in over.record.ledger if one.event is Event.PROMOTED]


# --- what else Git says of a Service ---

PORTS = '[{"name":"http","port":80,"targetPort":"http"}]'
CARRIED = {
    "its own, which the version serves": ('[{"port":80,"targetPort":80}]', ""),
    "none, where nobody knows them": ("", ""),
    "those of the version, where it does not serve those that are there": (PORTS, '[{"port":81}]'),
}


@pytest.mark.parametrize("name", CARRIED)
def test_repair_of_a_selector_brings_only_the_ports_that_it_needs(name):
    """The API server may refuse those of Git: the selector must not wait for them."""
    ports, expected = CARRIED[name]
    git = {"ports": (ServicePorts("web", '[{"port":81}]'),)}
    state = world(active(1), desired=git, observed={"active_service": service("web", 0, ports=ports)})
    (led,) = done(state, RepairSelector)
    assert led.ports == expected


# --- a Service that app.yaml names no longer, and whose successor carries no traffic ---

RENAMED = manual(active_service="shop")
LEFT = FormerService("web", NOW)
LATE = NOW + 400 * SECOND
SHOP = service("shop", 2)


def renamed(shop, former=LEFT, *, web=2, **more):
    """The Service web carries all live traffic; app.yaml names shop."""
    observed = {"active_service": shop, "former_services": (service("web", web),)}
    record = {"former_services": (former,) if former else (), **more.pop("record", {})}
    return world(legacy(1), active(2), spec=RENAMED, observed=observed, record=record, **more)


ENDLESS, BEGUN, LATER = FormerService("web"), LEFT, FormerService("web", LATE)
SUCCEEDED = {
    "its successor is there": (renamed(SHOP, None), BEGUN),
    "its successor is not there": (renamed(None, None), ENDLESS),
    "its successor is somebody else's": (renamed(replace(SHOP, ours=False, digest=""), None), ENDLESS),
    "its successor leads nowhere": (renamed(service("shop", 0), None), ENDLESS),
    "its successor has come": (renamed(SHOP, ENDLESS, now=LATE), LATER),
    "its successor has gone, and it carries live traffic": (renamed(None, LEFT, now=LATE), ENDLESS),
    "its successor has gone, and it leads elsewhere": (renamed(None, LEFT, now=LATE, web=1), LEFT),
}


@pytest.mark.parametrize("name", SUCCEEDED)
def test_former_service_is_followed_for_a_delay_from_when_its_successor_carries_traffic(name):
    state, expected = SUCCEEDED[name]
    assert decided(state).record.last_read.former_services == (expected,)


@pytest.mark.parametrize("shop", [None, replace(SHOP, ours=False, digest="", owner="theirs")])
def test_service_with_all_the_traffic_goes_back_though_its_successor_is_not_there(shop):
    """Nobody is told to delete it."""
    decision = decided(renamed(shop, now=LATE, names_=1))
    assert [one.name for one in decision.actions if isinstance(one, SwitchTraffic)][:1] == ["web"]
    (said,) = (one for one in decision.conditions if one.type == "ServicesInGit")
    assert said.message.endswith("it moves with live traffic until Service shop carries it, and some time longer")


def test_former_service_of_the_manifest_in_git_says_so():
    manifest = {"desired": {"ports": (ServicePorts("web", ""),)}}
    (said,) = (one for one in decided(renamed(SHOP, ENDLESS, **manifest)).conditions if one.type == "ServicesInGit")
    assert said.message.endswith("it moves with live traffic as long as its manifest is in Git")

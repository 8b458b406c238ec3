"""Several active Services: one decision, one write each, true when all have moved (argo-rollouts.md §6, 13)."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import ApplyService, PointPreview, RepairSelector, SwitchTraffic
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event, FormerService, Switch, SwitchKind
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import ServicePorts
from gitops_bg.core.world import World
from tests.core.shown import ABSENT, Shown
from tests.core.simulation import Crash, Simulation, deployed, manual, template
from tests.core.worlds import (
    NOW,
    SECOND,
    active,
    candidate,
    conditions,
    decided,
    digest,
    legacy,
    pods,
    sentences,
    service,
    world,
)

SPEC = manual(more_active_services=("web-grpc",))
SUSPENDED = replace(SPEC, suspend=Suspension("incident"))
DECIDED = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)
V1, V2 = "1 (v1)", "2 (v2)"


def led(state: World) -> list[ApplyService | PointPreview | RepairSelector | SwitchTraffic]:
    """What is done about the Services that live traffic comes through."""
    kinds = ApplyService | PointPreview | RepairSelector | SwitchTraffic
    return [each for each in decided(state).actions if isinstance(each, kinds) and each.name != "web-preview"]


def moved(state: World) -> list[str]:
    """The Services that live traffic is switched with."""
    return [each.name for each in led(state) if isinstance(each, SwitchTraffic)]


def in_git(state: World) -> Shown:
    return conditions(state)["ServicesInGit"]


def seen(web: int | None, grpc: int | None, **changes):
    """What the two Services select; None: there is none."""
    first = None if web is None else service("web", web)
    others = () if grpc is None else (service("web-grpc", grpc, **changes),)
    return {"active_service": first, "more_active_services": others}


def moving(web: int | None, grpc: int | None, *, switch: Switch | None = DECIDED, **more):
    """Traffic is on its way from v1 to v2."""
    record = {"switch": switch, **more.pop("record", {})}
    observed = {**seen(web, grpc), **more.pop("observed", {})}
    return world(active(1), candidate(2), names_=2, live=1, record=record, observed=observed, **{"spec": SPEC, **more})


ROUTED = {
    "both move": (
        moving(1, 1),
        [
            f"switch live traffic from {V1} to {V2}, Service web",
            f"switch live traffic from {V1} to {V2}, Service web-grpc",
        ],
    ),
    "the one that has not": (moving(2, 1), [f"switch live traffic from {V1} to {V2}, Service web-grpc"]),
    "neither, while one of them is somebody else's": (moving(1, 1, observed=seen(1, 1, ours=False, owner="Helm")), []),
    "none twice": (moving(2, 2), []),
    "one that is new is made to follow": (
        world(active(1), spec=SPEC, observed=seen(1, None)),
        [f"apply the active Service web-grpc -> {digest(1)[3:13]}: it does not exist"],
    ),
    "each is repaired": (
        world(active(1), spec=SPEC, observed=seen(0, 0)),
        [
            f"lead the active Service web back to {digest(1)[3:13]}: somebody changed its selector",
            f"lead the active Service web-grpc back to {digest(1)[3:13]}: somebody changed its selector",
        ],
    ),
    "what was moved alone moves back": (
        world(active(1), candidate(2), spec=SPEC, observed=seen(2, 1)),
        [f"lead the active Service web back to {digest(1)[3:13]}: somebody changed its selector"],
    ),
    "suspended: what was moved alone moves back, and nothing else is written": (
        world(active(1), candidate(2), spec=SUSPENDED, observed=seen(2, 1, drifted=True)),
        [f"lead the active Service web back to {digest(1)[3:13]}: somebody changed its selector"],
    ),
    "suspended: one that is missing stays so": (world(active(1), spec=SUSPENDED, observed=seen(1, None)), []),
}


@pytest.mark.parametrize("name", ROUTED)
def test_routes(name):
    state, expected = ROUTED[name]
    assert [str(each) for each in led(state)] == expected


@pytest.mark.parametrize("web", [1, 2, 0, None])
@pytest.mark.parametrize("grpc", [1, 2, 0, None])
def test_switch_is_true_when_all_have_moved(web, grpc):
    record = decided(moving(web, grpc)).record
    assert (record.routing.traffic == digest(2)) is (web == grpc == 2)
    assert [each.event for each in record.ledger].count(Event.PROMOTED) == int(web == grpc == 2)


GOES_ON = {
    "one that has begun, though the app was suspended meanwhile": (moving(2, 1, spec=SUSPENDED), True),
    "not one that has not": (moving(1, 1, spec=SUSPENDED), False),
    "not one whose pods are gone": (moving(2, 1, sets=(pods(1), pods(2, 3, 1))), False),
}


@pytest.mark.parametrize("name", GOES_ON)
def test_goes_on(name):
    state, expected = GOES_ON[name]
    assert bool(moved(state)) is expected


def test_version_that_any_of_them_selects_keeps_its_pods_though_its_delay_is_over():
    over = (legacy(1, scale_down_at=NOW - SECOND), active(2))
    scaled = [
        any(line.startswith("scale 1 (v1)") for line in sentences(world(*over, spec=SPEC, observed=seen(2, grpc))))
        for grpc in (2, 1)
    ]
    assert scaled == [True, False]


ARRIVED = {
    "both": (seen(1, 1), True),
    "one of them": (seen(1, 1, other_endpoints=True), False),
    "not all pods of one": (seen(1, 1, ready_endpoints=1), False),
    "one is missing": (seen(1, None), False),
}


@pytest.mark.parametrize("name", ARRIVED)
def test_old_version_drains_until_the_endpoints_of_all_have_followed(name):
    observed, expected = ARRIVED[name]
    version = decided(world(active(1), spec=SPEC, observed=observed)).record.numbered(1)
    assert version is not None
    assert (version.routed_at is not None) is expected


def test_somebody_elses_is_said():
    assert decided(world(active(1), spec=SPEC, observed=seen(1, 1, ours=False, owner="Helm"))).phase is Phase.DEGRADED


# --- whole stories ---


def waiting() -> Simulation:
    sim = deployed(SPEC)
    assert sim.points_to() == {template("1").digest}
    sim.push("2")
    sim.settle()
    return sim


def between_the_writes(sim: Simulation) -> None:
    """The agent dies when one Service has moved and the other has not."""
    decision = sim.decide()
    kinds = [type(action).__name__ for action in decision.actions]
    assert "SwitchTraffic" in kinds
    with pytest.raises(Crash):
        sim.step(kinds.index("SwitchTraffic") + 1 + (decision.record != sim.record))
    assert len(sim.points_to()) == 2


def test_promotion_moves_both_and_a_revert_moves_both_back():
    sim = waiting()
    sim.merge()
    sim.settle()
    assert sim.points_to() == {template("2").digest}
    sim.revert_promotion()
    sim.settle()
    assert sim.points_to() == {template("1").digest}
    assert sim.events().count("promoted") == sim.events().count("rolled-back") == 1


def test_death_between_the_two_writes_is_made_good_by_the_next_pass():
    sim = waiting()
    sim.merge()
    between_the_writes(sim)
    sim.suspend()
    sim.settle()
    assert sim.points_to() == {template("2").digest}
    assert sim.events().count("promoted") == 1


def test_promotion_taken_back_between_the_two_writes_never_happened():
    sim = waiting()
    sim.merge()
    between_the_writes(sim)
    sim.set_primary("1", "revert")
    sim.settle()
    assert sim.points_to() == {template("1").digest}
    assert sim.events().count("promoted") == 0
    assert sim.moves == sim.recorded_moves()


def test_promotion_aborted_between_the_two_writes_is_taken_back_also_while_suspended():
    """Else live traffic reached a version on hold for as long as the suspension lasts."""
    sim = waiting()
    sim.merge()
    between_the_writes(sim)
    sim.suspend()
    sim.ask(OperatorCommand.ABORT)
    sim.settle()
    assert sim.points_to() == {template("1").digest}
    assert sim.held == {"2"}
    assert sim.moves == sim.recorded_moves()


@pytest.mark.parametrize(("web", "grpc"), [(2, 2), (0, 1), (2, 0)])
def test_while_suspended_nothing_else_is_repaired(web, grpc):
    state = world(active(1), candidate(2), spec=replace(SPEC, suspend=Suspension("incident")), observed=seen(web, grpc))
    assert led(state) == []


# --- a Service that app.yaml names no longer ---

RENAMED = manual(active_service="web2")
SHOWS_IT = manual(active_service="web2", preview_service="web")
LEFT = FormerService("web", NOW)


def renamed(former=LEFT, view: int | None = 1, now=NOW, **more):
    """The live Service web; app.yaml names web2."""
    views = () if view is None else (service("web", view, **more.pop("service", {})),)
    observed = {"active_service": service("web2", 1), "former_services": views, **more.pop("observed", {})}
    record = {"former_services": (former,) if former else (), **more.pop("record", {})}
    return world(active(1), candidate(2), spec=RENAMED, observed=observed, record=record, now=now, **more)


NOTED = {
    "it has left Git now": (renamed(None), (LEFT,)),
    "it had before": (renamed(now=NOW + 99 * SECOND), (LEFT,)),
    "its manifest is still there": (
        renamed(None, desired={"ports": (ServicePorts("web", ""),)}),
        (FormerService("web"),),
    ),
    "its manifest has come back": (renamed(desired={"ports": (ServicePorts("web", ""),)}), (FormerService("web"),)),
    "nobody knows whether it is": (renamed(None, desired={"whole": False}), (FormerService("web"),)),
    "somebody deleted it": (renamed(view=None), ()),
    "it is somebody else's by now": (renamed(service={"ours": False}), ()),
    "it is to show the preview: it follows first": (replace(renamed(None), spec=SHOWS_IT), (LEFT,)),
    "likewise, whatever its manifest in Git says": (
        replace(renamed(desired={"ports": (ServicePorts("web", ""),)}), spec=SHOWS_IT),
        (LEFT,),
    ),
    "it is to show the preview, and has followed long enough": (
        replace(renamed(now=NOW + 300 * SECOND), spec=SHOWS_IT),
        (),
    ),
    "it was the preview Service": (
        renamed(None, observed={"former_preview": "web"}),
        (FormerService("web", NOW, preview=True),),
    ),
    "it was the preview Service, and its manifest is there": (
        renamed(None, observed={"former_preview": "web"}, desired={"ports": (ServicePorts("web", ""),)}),
        (FormerService("web", NOW, preview=True),),
    ),
    "it was the preview Service before": (
        renamed(FormerService("web", NOW, preview=True), now=NOW + 99 * SECOND),
        (FormerService("web", NOW, preview=True),),
    ),
}


@pytest.mark.parametrize("name", NOTED)
def test_former_service_is_remembered(name):
    state, expected = NOTED[name]
    assert decided(state).record.last_read.former_services == expected


LATE = NOW + 300 * SECOND
FOLLOWED = {
    "within the delay": (renamed(view=2, now=LATE - SECOND), True),
    "while its manifest is in Git": (renamed(FormerService("web"), 2, LATE), True),
    "no longer": (renamed(view=2, now=LATE), False),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_former_service_is_followed(name):
    state, expected = FOLLOWED[name]
    assert any("Service web back to" in str(each) for each in led(state)) is expected


def test_former_service_moves_with_the_others():
    state = renamed(record={"switch": DECIDED}, names_=2)
    assert moved(state) == ["web2", "web"]
    assert moved(replace(state, now=LATE)) == ["web2"]


def test_of_former_services_only_the_followed_ones_of_ours_move():
    views = (service("web", 1), service("theirs", 1, ours=False), service("late", 1))
    former = (LEFT, FormerService("theirs", NOW), FormerService("late", NOW - 300 * SECOND))
    assert moved(
        renamed(names_=2, observed={"former_services": views}, record={"former_services": former, "switch": DECIDED})
    ) == ["web2", "web"]


@pytest.mark.parametrize(
    ("spec", "now", "moves"),
    [
        (SHOWS_IT, NOW, True),
        (SHOWS_IT, LATE, False),
        (replace(SHOWS_IT, strategy=replace(SHOWS_IT.strategy, scale_down_delay_seconds=None)), LATE, True),
        (
            replace(SHOWS_IT, strategy=replace(SHOWS_IT.strategy, scale_down_delay_seconds=None)),
            NOW + 600 * SECOND,
            False,
        ),
    ],
    ids=("within the delay", "after it", "where old versions stay for ever", "then ten minutes"),
)
def test_a_service_that_is_to_show_the_preview_moves_with_live_traffic_first(spec, now, moves):
    """Found so: clients of that name got the candidate, which nobody had promoted, at once."""
    shown = {"preview_service": service("web", 1)}
    state = replace(renamed(now=now, observed=shown, record={"preview": digest(2)}), spec=spec)
    assert (not any(isinstance(each, PointPreview) for each in led(state))) is moves
    switching = replace(renamed(record={"switch": DECIDED}, names_=2, now=now, observed=shown), spec=spec)
    assert moved(switching) == (["web2", "web"] if moves else ["web2"])


def test_a_former_preview_service_follows_nothing_and_is_said_with_the_command_that_deletes_it():
    state = renamed(FormerService("web", NOW, preview=True), 2)
    assert led(state) == []
    condition = in_git(state)
    assert (condition.status, condition.reason) == (False, "NotManaged")
    assert condition.message.startswith("Service web shows the preview no longer (Service web-preview shows it)")
    assert "`kubectl delete service -n shop web`" in condition.message


STAYS = "it stays where it points; `kubectl delete service -n shop web`, or name it in app.yaml"
NOT_NAMED: dict[str, tuple[World, str, str]] = {
    "for a whole delay after it left Git": (
        renamed(),
        "Followed",
        "it moves with live traffic until 2026-01-01T12:05:00Z",
    ),
    "as long as its manifest is in Git": (
        renamed(FormerService("web"), desired={"ports": (ServicePorts("web", ""),)}),
        "Followed",
        "it moves with live traffic as long as its manifest is in Git",
    ),
    "and not any more": (renamed(now=LATE), "NotManaged", STAYS),
    "and is not there": (renamed(None, None), "", ""),
}


@pytest.mark.parametrize("name", NOT_NAMED)
def test_it_is_said_of_a_service_that_app_yaml_names_no_longer(name: str) -> None:
    state, reason, message = NOT_NAMED[name]
    decision, said = decided(state), in_git(state)
    assert (said == ABSENT, said.reason) == (not reason, reason)
    assert said.message.endswith(message)
    assert decision.wake_at == (LATE if "until" in message else decided(renamed(None, None)).wake_at)

"""Invariants I1–I7 over random histories: what people, pods, Git and crashes can do, in any order (DESIGN §5).

I1, I2, I3 and I7 are checked by `decide` on every answer it gives (`core.invariants`); the tests here drive it
into corners. I4, I5 and I6 speak of histories and are checked here.
"""

import copy
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_bg.core.checks.subject import awaits_confirmation
from gitops_bg.core.engine import decide
from gitops_bg.core.model import actions as act
from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementPlan, MeasurementResult, Metric
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import AppSpec, OnExpire
from gitops_bg.core.model.version import NO_METADATA, PodMetadata
from gitops_bg.core.names import configuration_name, replica_set_name
from gitops_bg.core.world import World
from tests.core.simulation import APP, MOVES, Crash, Simulation, automatic, manual, template

FEW = int(os.environ.get("HISTORIES", "50"))
"""How many random histories a promise is tried on. `make histories` takes twice as many, as CI does."""
SOME, MANY = FEW * 3 // 2, FEW * 2
TAGS = ["1", "2+a", "3+a", "3+b", "bad"]
"""Of some, the image differs; of others, only what their ConfigMap holds (`simulation.template`)."""


def on_tag(change: Callable[[Simulation, str], None]) -> Callable[[str], Callable[[Simulation], None]]:
    return lambda tag: lambda world: change(world, tag)


def crash(writes: int) -> Callable[[Simulation], None]:
    def die(world: Simulation) -> None:
        try:
            world.step(writes)
        except Crash:
            return

    return die


def one_of_tags(change: Callable[[Simulation, str], None]) -> st.SearchStrategy[Callable[[Simulation], None]]:
    return st.sampled_from(TAGS).map(on_tag(change))


def toggle(name: str) -> Callable[[Simulation], None]:
    return lambda world: setattr(world, name, not getattr(world, name))


def rewrite_history(world: Simulation) -> None:
    world.history_rewritten = "" if world.history_rewritten else "f" * 40


def wipe_active(world: Simulation) -> None:
    world.active = "" if world.active is not None else None


def delete_services(world: Simulation) -> None:
    world.active = world.preview = None
    world.more.clear()


def wipe_another(world: Simulation) -> None:
    for name in world.more:
        world.more[name] = ""


def endpoints_lag(*names: str) -> Callable[[Simulation], None]:
    """From now on these Services have endpoints of other versions, too, and only they."""
    return lambda world: setattr(world, "late_endpoints", set(names))


def lose_copies(world: Simulation) -> None:
    world.copies.clear()


def replace_copies(world: Simulation) -> None:
    """Somebody deleted each and made another of its name that holds something else."""
    world.copies = {name: replace(view, digest="v1:else") for name, view in world.copies.items()}


def forbid_to_list(world: Simulation) -> None:
    world.unlisted = () if world.unlisted else ("ConfigMap",)


def scale_by_hand(world: Simulation, tag: str) -> None:
    pods = world.pods.get(template(tag).digest)
    if pods:
        pods.replicas, pods.available = 1, min(pods.available, 1)


def promote_next(world: Simulation) -> None:
    """Push the next tag and merge it before anything is checked; its gates still hold."""
    world.push(str(len(world.tags) % 7))
    world.set_primary(world.target)


def measure(phase: AnalysisPhase) -> Callable[[Simulation], None]:
    def take(world: Simulation) -> None:
        due = world.decide().measurements
        world.measured = tuple(MeasurementResult(one.id, phase, world.now) for one in due)
        world.step()
        world.measured = ()

    return take


def analysed(spec: AppSpec) -> AppSpec:
    """The app with both analyses."""
    plan = MeasurementPlan((Metric("errors", "web", interval=30, count=2, consecutive_error_limit=1),))
    strategy = replace(spec.strategy, pre_promotion_analysis=plan, post_promotion_analysis=plan)
    return replace(spec, strategy=strategy)


def hooks_say(status: int) -> Callable[[Simulation], None]:
    """All hooks but those that ask to go back."""

    def answer(world: Simulation) -> None:
        calls = [call for call in world.decide().calls if call.hook.type is not HookType.ROLLBACK]
        world.answer({call.hook.name: status for call in calls})

    return answer


def hooks_agree(world: Simulation) -> None:
    """As often as a whole rollout asks."""
    for _ in range(5):
        hooks_say(200)(world)
        world.pods_come_up()


def hook_asks_to_go_back(world: Simulation) -> None:
    world.answer({str(HookType.ROLLBACK): 200})


def hooked(spec: AppSpec) -> AppSpec:
    """The app with a hook of each type, and a manual gate."""
    hooks = tuple(Hook(str(one), one, interval=31, failure_limit=1, deadline=300) for one in HookType)
    gate = Hook("gate", HookType.CONFIRM_ROLLOUT, manual=True)
    return replace(spec, strategy=replace(spec.strategy, hooks=(*hooks, gate)))


FINDINGS = (
    AnalysisPhase.SUCCESSFUL,
    AnalysisPhase.SUCCESSFUL,
    AnalysisPhase.FAILED,
    AnalysisPhase.INCONCLUSIVE,
    AnalysisPhase.ERROR,
)
STATUSES = (200, 204, 403, 500, 503, 0)
EVENTS = st.one_of(
    one_of_tags(Simulation.push),
    one_of_tags(Simulation.revert_target),
    one_of_tags(Simulation.set_primary),
    one_of_tags(Simulation.pods_fail),
    one_of_tags(Simulation.delete_replica_set),
    one_of_tags(scale_by_hand),
    st.sampled_from(
        [
            Simulation.merge,
            Simulation.revert_promotion,
            Simulation.pods_come_up,
            Simulation.retry,
            Simulation.restart,
            lambda world: world.restart(60),
            toggle("budget_refuses"),
            Simulation.suspend,
            Simulation.freeze,
            lambda world: world.freeze(world.now + timedelta(minutes=10)),
            Simulation.resume,
            wipe_active,
            wipe_another,
            delete_services,
            endpoints_lag("web", "web-preview"),
            endpoints_lag("web"),
            endpoints_lag(),
            rewrite_history,
            toggle("protected"),
            toggle("reachable"),
            lambda world: world.later(seconds=31),
            lambda world: world.later(seconds=301),
            lambda world: world.later(seconds=601),
            lambda world: world.ask(OperatorCommand.ABORT),
            lambda world: world.ask(OperatorCommand.PROMOTE),
            lambda world: world.ask(OperatorCommand.PROMOTE_FULL),
            *map(measure, FINDINGS),
            *map(hooks_say, STATUSES),
            hooks_agree,
            hook_asks_to_go_back,
            lambda world: world.ask(OperatorCommand.OPEN_GATE, gate="gate"),
            lambda world: world.ask(OperatorCommand.CLOSE_GATE, gate="gate"),
            lambda world: world.ask(OperatorCommand.ROLLBACK),
            lambda world: setattr(world, "replicas", 1 + world.commits % 5),
            Simulation.autoscale,
            lambda world: world.autoscale(0, 4),
            *(lambda world, pods=pods: world.load(pods) for pods in (0, 1, 5, 9)),
        ]
    ),
    st.integers(0, 4).map(crash),
)
# Between what happens, the agent and the pods mostly get on with it: without that, histories stay shallow.
PASSES = st.sampled_from([0, 1, 2, 6, 6, 6])
HISTORY = st.lists(st.tuples(EVENTS, PASSES), max_size=30)
DEEP = st.lists(
    st.tuples(st.one_of(st.just(Simulation.merge), st.sampled_from([promote_next, hooks_agree]), EVENTS), PASSES),
    max_size=30,
)
HISTORIES = st.one_of(HISTORY, DEEP)

EVERYTHING = {"more_active_services": ("web-grpc",), "preview_replica_count": 1, "expire_after_seconds": 90}
SPECS = st.sampled_from(
    [
        manual(),
        automatic(),
        automatic(auto_promotion_seconds=60),
        manual(preview_replica_count=1),
        replace(automatic(scale_down_delay_seconds=0), revision_history_limit=0),
        automatic(scale_down_delay_seconds=None, scale_down_delay_revision_limit=1),
        manual(preview_service=None),
        manual(more_active_services=("web-grpc",)),
        automatic(more_active_services=("web-grpc", "web-admin"), scale_down_delay_seconds=0),
        analysed(manual()),
        analysed(automatic()),
        hooked(manual()),
        hooked(analysed(automatic())),
        analysed(automatic(scale_down_delay_seconds=0, scale_down_delay_revision_limit=0)),
        replace(manual(), progress_deadline_abort=True),
        manual(expire_after_seconds=30),
        automatic(scale_down_delay_seconds=0, drain_seconds=40),
        manual(expire_after_seconds=30, on_expire=OnExpire.PROMOTE),
        replace(
            hooked(analysed(automatic(**EVERYTHING, auto_promotion_seconds=60, drain_seconds=20))),
            progress_deadline_abort=True,
        ),
        hooked(analysed(manual(**EVERYTHING, on_expire=OnExpire.PROMOTE))),
    ]
)


ROLES = {"active_metadata": PodMetadata((("role", "active"),)), "preview_metadata": PodMetadata((("role", "preview"),))}


def run(
    spec: object,
    events: list[tuple[Callable[[Simulation], None], int]],
    check: Callable[[Simulation], None] = lambda world: None,
) -> Simulation:
    """The world after a history; ``check`` looks at it before every pass."""
    world = Simulation(spec)  # type: ignore[arg-type]
    world.bad_tags.add("bad")
    world.push("1")
    for event, passes in events:
        event(world)
        for _ in range(passes):
            check(world)
            world.step()
            world.pods_come_up()
    return world


def calm_down(world: Simulation) -> None:
    """Git answers, nobody is suspended: now the world must come to rest."""
    world.reachable, world.protected, world.history_rewritten = True, False, ""
    world.budget_refuses, world.policies = False, ()
    world.resume()
    world.settle()


@settings(max_examples=MANY)
@given(SPECS, HISTORIES)
def test_every_history_comes_to_rest_and_then_nothing_is_done(spec, events):
    """I5: an unchanged world yields no actions and the same record."""
    world = run(spec, events)
    calm_down(world)
    record = world.record
    decision = world.step()
    assert decision.actions == ()
    assert decision.record == record


@settings(max_examples=FEW)
@given(SPECS, HISTORIES)
def test_deciding_again_before_anything_was_done_tells_nothing_twice(spec, events):
    """The record is saved before the actions: whoever dies in between begins with it, and the same world."""
    world = run(spec, events, check=_tells_nothing_twice)
    _tells_nothing_twice(world)


def _tells_nothing_twice(world: Simulation) -> None:
    record = world.decide().record
    again = decide(world.spec, world.desired(), world.observed(), record, world.now).record
    assert again.ledger == record.ledger


@settings(max_examples=FEW)
@given(SPECS, HISTORIES, st.floats(0, 0.99))
def test_time_alone_changes_nothing_before_it_is_time_to_wake_up(spec, events, part):
    """I5: and who sleeps until then misses nothing that is due; without ``wake_at``, for a year."""
    world = run(spec, events)
    world.settle()
    before = world.decide()
    assert before.wake_at is None or before.wake_at > world.now
    world.now += ((before.wake_at or world.now + timedelta(days=365)) - world.now) * part
    after = world.decide()
    assert (after.actions, after.record, after.calls) == (before.actions, before.record, before.calls)
    assert (after.measurements, after.phase, after.wake_at) == (before.measurements, before.phase, before.wake_at)


@settings(max_examples=FEW)
@given(SPECS, HISTORIES)
def test_app_that_is_not_healthy_says_what_it_waits_for(spec, events):
    """Every wait has a reason, and no end that has passed already."""
    world = run(spec, events)
    world.settle()
    decision = world.decide()
    assert decision.waits or decision.phase is Phase.HEALTHY or not world.record.routing.traffic
    for wait in decision.waits:
        assert wait.reason
        assert wait.until is None or wait.until > world.now


@settings(max_examples=MANY)
@given(SPECS, HISTORIES)
def test_every_switch_is_exactly_one_ledger_entry(spec, events):
    """I4, also across crashes after any write."""
    world = run(spec, events)
    calm_down(world)
    assert world.recorded_moves() == world.moves
    sequences = [entry.sequence for entry in world.entries()]
    assert sequences == sorted(set(sequences))


@settings(max_examples=SOME)
@given(SPECS, HISTORIES)
def test_rollback_to_the_last_good_version_takes_one_switch(spec, events):
    """I6: from every reachable state, with Git as it is."""
    world = run(spec, events)
    world.bad_tags.clear()
    world.settle(limit=60)
    good = World(world.spec, world.desired(), world.observed(), world.record, world.now).rollback_target
    if good is None:
        return
    before = len(world.moves)
    world.ask(OperatorCommand.ROLLBACK)
    world.settle()
    assert len(world.moves) == before + 1
    assert world.points_to() == {good.digest}


@settings(max_examples=FEW)
@given(SPECS, HISTORIES, st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_dying_after_any_write_ends_in_the_same_place(spec, events, deaths):
    """Every prefix of the actions may be the last one carried out; the next pass ends in the same state."""
    steady = run(spec, events)
    shaken = copy.deepcopy(steady)
    calm_down(steady)
    shaken.reachable, shaken.protected, shaken.history_rewritten = True, False, ""
    shaken.budget_refuses, shaken.policies = False, ()
    shaken.resume()
    for writes in deaths:
        crash(writes)(shaken)
        shaken.pods_come_up()
    shaken.settle()
    assert (shaken.live, shaken.primary, shaken.held) == (steady.live, steady.primary, steady.held)


@settings(max_examples=FEW)
@given(HISTORIES)
def test_live_traffic_ends_where_primary_says(events):
    """The one rule: once the world is calm and pods can come up, live traffic follows ``primary.yaml``."""
    world = run(manual(), events)
    world.bad_tags.clear()
    calm_down(world)
    if world.primary:
        assert world.live == world.primary


@settings(max_examples=FEW)
@given(st.sampled_from([manual(**ROLES), automatic(scale_down_delay_seconds=0, **ROLES)]), HISTORIES)
def test_pods_end_with_the_metadata_of_their_role(spec, events):
    """Once the world is calm, whatever crashed in between; and only the live version is called active."""
    world = run(spec, events)
    calm_down(world)
    for digest, pods in world.pods.items():
        allowed = {ROLES["active_metadata"]} if digest == world.active else {ROLES["preview_metadata"], NO_METADATA}
        # What serves first is dressed as the active version at once.
        assert pods.worn in (allowed if world.active else set(ROLES.values()) | {NO_METADATA})
        assert pods.worn == pods.metadata


MEDDLING = st.sampled_from([lose_copies, replace_copies, forbid_to_list, *map(on_tag(Simulation.push), TAGS)])


@settings(max_examples=SOME)
@given(SPECS, st.lists(st.tuples(st.one_of(EVENTS, MEDDLING), PASSES), max_size=30))
def test_copies_are_those_of_the_versions_there_are(spec, events):
    """None that a ReplicaSet uses was ever deleted (the simulation looks); lost ones are back where Git has them."""
    world = run(spec, events)
    world.unlisted = ()
    calm_down(world)
    in_git = {ref for tag in (world.target, world.primary) if tag for ref in template(tag).configuration}
    used = {ref for version in world.record.versions for ref in version.snapshot.configuration}
    for ref in used & in_git:
        assert world.copies[configuration_name(APP, ref)].digest == ref.digest
    assert world.copies.keys() <= {configuration_name(APP, ref) for ref in used | in_git}


@settings(max_examples=FEW)
@given(SPECS, st.lists(st.tuples(st.one_of(EVENTS, MEDDLING), PASSES), max_size=30))
def test_copies_that_nobody_may_list_are_not_made_again_and_again(spec, events):
    """I5: what the agent cannot see is made once, whatever became of the ReplicaSet that used it."""
    world = run(spec, events)
    world.unlisted = ("ConfigMap",)
    calm_down(world)
    assert world.step().actions == ()


REFUSED = st.sampled_from([act.ApplyConfiguration, act.CreateReplicaSet, act.ScaleReplicaSet])


@settings(max_examples=FEW)
@given(SPECS, HISTORIES, REFUSED)
def test_way_back_is_open_whatever_is_refused_to_a_new_version(spec, events, kind):
    """I6: neither a quota nor a policy nor missing rights that keep a new version out keep traffic from going back."""
    world = run(spec, events)
    calm_down(world)
    good = _world(world).rollback_target
    world.push("9+z")
    refused = world.record.last_version + 1
    world.refuses = lambda action: isinstance(action, kind) and action.number == refused
    world.bad_tags.clear()
    world.ask(OperatorCommand.ROLLBACK)
    for _ in range(12):
        world.step()
        world.pods_come_up()
    assert good is None or world.points_to() == {good.digest}


@settings(max_examples=FEW)
@given(SPECS, HISTORIES)
def test_restart_ends_with_no_pod_older_than_it(spec, events):
    """Never were too many evicted at once. A new rollout cancels it; traffic on its way (to analyses here) is first."""
    world = run(spec, events)
    world.bad_tags.clear()
    calm_down(world)
    world.later(seconds=61)
    world.restart()
    for _ in range(20):
        world.settle()
        world.later(seconds=31)
    if _world(world).incoming:
        return
    assert world.record.operator.restarted == world.spec.restart_at
    assert "restart-cancelled" in world.events() or not world.older_than(world.spec.restart_at)


@settings(max_examples=FEW)
@given(SPECS, HISTORIES, st.integers(0, 9))
def test_autoscaler_aims_at_what_serves_and_its_size_is_nobody_elses(spec, events, wanted):
    """Whatever came before: a new load is left as it is, and what is to serve next has as many pods (I2, I5)."""
    world = run(spec, events)
    world.bad_tags.clear()
    calm_down(world)
    if world.autoscaler is None or not world.in_git or not world.record.routing.traffic:
        return
    live, aim = world.pods[world.record.routing.traffic], world.auxiliary_objects[world.autoscaler.copy]
    assert aim == replica_set_name(APP, live.number, world.record.routing.traffic)
    world.load(wanted)
    size = live.replicas
    world.settle()
    assert live.replicas == size
    coming = _world(world).incoming
    if coming and not awaits_confirmation(_world(world), coming):
        assert world.pods[coming.digest].replicas >= size


def _world(sim: Simulation) -> World:
    return World(sim.spec, sim.desired(), sim.observed(), sim.record, sim.now)


def test_moves_are_the_events_that_move_traffic():
    assert set(MOVES) == {Event.DEPLOYED, Event.PROMOTED, Event.ROLLED_BACK}

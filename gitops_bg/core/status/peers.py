"""An app or a release group as seen by the policies of others: whether it is healthy, moving, or only waits for its
turn.

Computed after a decision, and only if some policy asks about others.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

from gitops_bg.core.checks.gates import gates_before_commit, gates_before_first, gates_before_switch
from gitops_bg.core.checks.policy_facts import facts_of
from gitops_bg.core.checks.situations import phase_of
from gitops_bg.core.checks.subject import round_of
from gitops_bg.core.delivery.gates import with_place
from gitops_bg.core.groups.gates import gates_of
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.subject import round_of as round_of_group
from gitops_bg.core.groups.subject import run_of_active, version_of
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.policy_facts import Peer
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import AppKey, GroupKey, Version
from gitops_bg.core.world import World
from gitops_bg.core.written import Labels


def peer_of(world: World, *, commits: bool, labels: tuple[tuple[str, str], ...], since: datetime | None) -> Peer:
    """Return the app after a decision. ``commits``: its promotion is about to be committed to main.

    ``since`` is when it became healthy, if known; otherwise it counts from now.
    """
    phase, active, version = phase_of(world), world.active, _next(world)
    peer = Peer(
        who=world.spec.app,
        labels=labels,
        healthy_since=(since or world.now) if phase is Phase.HEALTHY else None,
        phase=phase.value,
        moving=commits or is_moving(world),
    )
    if version is not None and not peer.moving:
        peer = with_place(round_of(world), peer, version.digest, _gates(world, version))
    if active is None:
        return peer
    serving = facts_of(world, active).to
    return replace(peer, digest=serving.digest, number=serving.number, label=serving.label)


def is_moving(world: World) -> bool:
    """Return whether traffic is about to move forward, or has moved and the endpoints or the analysis are not done.

    An analysis that begins anew only if a rollback is taken back keeps no other app waiting.
    """
    switch, active, run = world.record.routing.switch, world.active, world.record.run(AnalysisStage.POST)
    if switch is not None and switch.switch_kind is not SwitchKind.ROLLBACK:
        return True
    if active is None:
        return False
    judged = run is not None and run.digest == active.digest and run.open
    return (judged and world.switch_kind is not SwitchKind.ROLLBACK) or active.routed_at is None


def _next(world: World) -> Version | None:
    """Return the version that may wait for its turn."""
    version = world.incoming or world.candidate
    return None if world.switch_kind is SwitchKind.ROLLBACK and world.incoming else version


def _gates(world: World, version: Version) -> tuple[GateResult, ...]:
    if world.incoming:
        return gates_before_switch(world, version)
    return gates_before_commit(world, version) if world.active else gates_before_first(world, version)


def group_peer_of(world: GroupWorld, labels: Callable[[AppKey], Labels]) -> Peer:
    """Return the group after a decision; ``labels`` gives those of its services."""
    seen, version = peer_on_record(world.key, world.record, labels, world.spec.active), world.wanted
    is_next = world.record.transition is None and world.record.state.stage(version) is VersionStage.CANDIDATE
    if seen.moving or not is_next:
        return seen
    return with_place(round_of_group(world), seen, world.digest_of(version), gates_of(world, version))


def peer_on_record(key: GroupKey, record: GroupRecord, labels: Callable[[AppKey], Labels], asked_for: str = "") -> Peer:
    """Return the group as its record has it: all that is known where nobody can use its folder, and so what it is
    ``asked_for``. It waits for no turn then, and keeps the one that it has.
    """
    wanted = record.wanted(asked_for)
    moves_to = _moving_to(record, wanted)
    services = tuple((app, labels(app)) for app in _brought(key, record, moves_to or wanted))
    return Peer(key, moving=bool(moves_to), services=services)


def _moving_to(record: GroupRecord, wanted: str) -> str:
    """Return the version that requests are about to move forward to, or have moved to while its analysis is not done;
    empty where there is none: a way back keeps nobody waiting.
    """
    moving, run = record.transition, run_of_active(record)
    if moving is not None:
        return "" if moving.goes_back else moving.target
    is_judged = run is not None and run.open and record.state.stage(wanted) is not VersionStage.LEGACY
    return version_of(run) if run is not None and is_judged else ""


def _brought(key: GroupKey, record: GroupRecord, version: str) -> Iterator[AppKey]:
    """Yield the services that move with a version: those that it inherits stay where they are."""
    for place in record.state.endpoints:
        if place.version == place.initial_version == version:
            yield AppKey(key.namespace, member_name(place.service, version))

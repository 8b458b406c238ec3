"""A group as seen by the policies of others: whether it moves, or only waits for its turn (as `checks.policies.peer`).

Computed after a decision, and only if some policy asks about others.
"""

from collections.abc import Callable, Iterator

from gitops_bg.core.delivery.policies import with_place
from gitops_bg.core.groups.gates import gates_of
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.subject import round_of, run_of_active, version_of
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.policies.facts import Labels, Peer
from gitops_bg.core.model.version import AppKey, GroupKey


def peer_of(world: GroupWorld, labels: Callable[[AppKey], Labels]) -> Peer:
    """Return the group after a decision; ``labels`` gives those of its services."""
    seen, version = peer_on_record(world.key, world.record, labels, world.spec.active), world.wanted
    is_next = world.record.transition is None and world.record.state.stage(version) is VersionStage.CANDIDATE
    if seen.moving or not is_next:
        return seen
    return with_place(round_of(world), seen, world.digest_of(version), gates_of(world, version))


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
    """The services that move with a version: those that it inherits stay where they are."""
    for place in record.state.endpoints:
        if place.version == place.initial_version == version:
            yield AppKey(key.namespace, member_name(place.service, version))

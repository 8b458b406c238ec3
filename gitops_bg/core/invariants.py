"""The invariants of DESIGN §5, stated once. `decide` checks its own answer with them before it returns it.

I4, I5 and I6 concern histories, not one decision; the property tests check those over runs of the engine.
"""

from collections.abc import Iterator

from gitops_bg.core.checks.adoption import is_released
from gitops_bg.core.checks.sizes import PodGroup, serves, serving_to_match
from gitops_bg.core.checks.versions import goes_back_still
from gitops_bg.core.model.actions import (
    Action,
    DeleteConfiguration,
    DeleteReplicaSet,
    EvictPod,
    ScaleDeployment,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.names import configuration_name
from gitops_bg.core.world import World


class InvariantBroken(AssertionError):
    """The engine contradicted itself: a bug. No part of the decision may be carried out."""


def check(world: World, actions: tuple[Action, ...]) -> None:
    """Raise ``InvariantBroken`` if the actions on this world break I1, I2, I3 or I7."""
    broken = list(violations(world, actions))
    if broken:
        raise InvariantBroken(f"{world.spec.app}: " + "; ".join(broken))


def violations(world: World, actions: tuple[Action, ...]) -> Iterator[str]:
    """Yield what is wrong with these actions on this world, one sentence each."""
    switches = [action for action in actions if isinstance(action, SwitchTraffic)]
    if len({switch.digest for switch in switches}) > 1 or len({switch.name for switch in switches}) < len(switches):
        yield "I4: more than one switch in one decision"
    for switch in switches:
        yield from _no_worse_than_before(world, switch)
        yield from _asked_for(world, switch)
        yield from _decided_before(world, switch)
    yield from _enough_stay(world, [action for action in actions if isinstance(action, EvictPod)])
    for action in actions:
        yield from _live_is_left_alone(world, action, switches)
    yield from _used_stays(world, [action for action in actions if isinstance(action, DeleteConfiguration)])


def _no_worse_than_before(world: World, switch: SwitchTraffic) -> Iterator[str]:
    version = world.record.version(switch.digest)
    serving = serving_to_match(world, version) if version else 0
    coming = world.available(switch.digest)
    if coming < serving:
        yield f"I1: {switch} with {coming} available pods, while {serving} serve"


def _asked_for(world: World, switch: SwitchTraffic) -> Iterator[str]:
    version, override = world.record.version(switch.digest), world.record.override
    named = switch.digest == world.named
    returned_to = override is not None and override.to_digest == switch.digest and version and version.was_active
    # Aborting a promotion that never moved traffic leads to the version that serves anyway.
    if not (named or world.record.routing.traffic == "" or returned_to or goes_back_still(world)):
        yield f"I3: {switch}, which neither primary.yaml names nor served before"


def _decided_before(world: World, switch: SwitchTraffic) -> Iterator[str]:
    decided = world.record.routing.switch
    if decided is None or decided.to_digest != switch.digest or decided.switch_kind is not switch.switch_kind:
        yield f"I7: {switch}, which the record has not decided"
    if switch.switch_kind is SwitchKind.FIRST and world.record.routing.traffic:
        yield f"I7: {switch} as a first deployment, while something serves"


def _enough_stay(world: World, evictions: list[EvictPod]) -> Iterator[str]:
    """Yield what breaks: a restart is no scale-down, each version keeps as many ready pods, which serve, as
    ``maxUnavailable`` demands.
    """
    for version in world.record.versions if evictions else ():
        group, uids = PodGroup.of(world, version), {each.uid for each in evictions}
        going = sum(serves(pod) for pod in group.pods if pod.uid in uids)
        if going and group.serving - going < group.replicas - group.most_missing:
            yield f"I2: {going} of the {group.serving} ready pods of {version.name} are evicted at once"


def _used_stays(world: World, deletions: list[DeleteConfiguration]) -> Iterator[str]:
    """Yield what breaks: the configuration of pods stays as long as their ReplicaSet, also of one that is to be scaled
    up again (I6).
    """
    used = {
        (ref.kind, configuration_name(world.spec.app, ref))
        for view in (world.observed.replica_sets if deletions else ())
        for ref in view.snapshot.configuration
    }
    for deletion in deletions:
        if (deletion.kind, deletion.name) in used:
            yield f"I2: {deletion}, which a ReplicaSet uses"


def _is_the_autoscalers(world: World, action: ScaleReplicaSet) -> bool:
    """Return whether this is the size of the serving version, within the bounds of its autoscaler."""
    autoscaler = world.record.last_read.autoscaler
    if autoscaler is None or is_released(world) or action.digest != world.record.routing.traffic:
        return False
    return action.current >= autoscaler.minimum or action.replicas > autoscaler.minimum


def _live_is_left_alone(world: World, action: Action, switches: list[SwitchTraffic]) -> Iterator[str]:
    if isinstance(action, ScaleDeployment):
        yield from _deployment_has_left(world, action, switches)
    if not isinstance(action, ScaleReplicaSet | DeleteReplicaSet):
        return
    selected = world.is_selected(action.digest)
    about_to_be = any(switch.digest == action.digest for switch in switches)
    if isinstance(action, ScaleReplicaSet) and _is_the_autoscalers(world, action):
        yield f"I7: {action}, which is the autoscaler's to decide"
    smaller = isinstance(action, DeleteReplicaSet) or action.replicas < min(action.current, world.full_size)
    if smaller and (selected or about_to_be):
        yield f"I2: {action}, which live traffic goes to"


def _deployment_has_left(world: World, action: ScaleDeployment, switches: list[SwitchTraffic]) -> Iterator[str]:
    """Yield what breaks: an adopted Deployment loses pods only while every active Service selects what serves."""
    if action.replicas < action.current and (switches or not world.is_selected_by_all(world.record.routing.traffic)):
        yield f"I2: {action}, while live traffic may go to its pods"

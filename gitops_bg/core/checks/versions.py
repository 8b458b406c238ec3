"""Facts about a version: the name of its ReplicaSet, whether it is live or an old tag, how long it stays; the color of
the next one.
"""

from datetime import datetime, timedelta

from gitops_bg.core import names
from gitops_bg.core.model.record import Record, SwitchKind
from gitops_bg.core.model.spec import Strategy
from gitops_bg.core.model.statements import Says
from gitops_bg.core.model.version import Color, Version
from gitops_bg.core.world import World


def live_name(world: World, version: Version) -> str:
    """The name of the ReplicaSet of a version: of the one that exists, else the one that it is created with."""
    view = world.replica_set(version.digest)
    return view.name if view else names.replica_set_name(world.spec.app, version.number, version.digest)


def is_live(world: World, digest: str) -> bool:
    """Whether traffic goes, may go or is about to go to a version, by record or by the live Service (I2)."""
    switch = world.record.routing.switch
    decided = switch is not None and digest == switch.to_digest
    return world.is_selected(digest) or decided or digest in (world.record.routing.traffic, world.desired_digest)


def warm_until(record: Record, strategy: Strategy, version: Version) -> datetime | None:
    """When a retired version is archived: an edited delay applies at once, even to versions retired before
    (argo-rollouts.md §1.1). None: never, or when the verdict on its successor is known, or it is not retired.

    With a delay of 0 seconds, at once. Nobody goes back to what never served (decision 16): one that was superseded or
    cancelled stays no longer than an aborted one, and goes at once where its pods did not come up, or where an aborted
    one stays for ever to be inspected.
    """
    way_out = version.retirement
    if way_out is None or record.keeps_warm(version.digest):
        return None
    if version.was_active and not way_out.aborted:
        seconds = strategy.scale_down_delay_seconds
    else:
        seconds = strategy.abort_scale_down_delay_seconds
        if not way_out.aborted and (seconds is None or not version.available_since):
            return way_out.since
    return None if seconds is None else way_out.since + timedelta(seconds=seconds)


def goes_back_still(world: World) -> bool:
    """Whether a rollback that some Services have followed, and another one refuses, goes on although main names a third
    version: until the gates of that one are open, nothing may lead to what was to be left.
    """
    switch = world.record.routing.switch
    if switch is None or switch.withdrawn or switch.switch_kind is not SwitchKind.ROLLBACK:
        return False
    to = world.record.version(switch.to_digest)
    is_third = world.desired_digest not in (switch.to_digest, switch.from_digest)
    return is_third and to is not None and to.was_active and world.is_selected(to.digest)


def next_color(world: World) -> Color:
    """The color that the active version does not have; blue for the first (DESIGN §2)."""
    serving = world.active or world.record.version(world.desired_digest)
    return serving.color.other if serving else Color.BLUE


def is_old_tag(world: World, candidate: Version) -> bool:
    """Whether a version served before: an old tag that is pushed again is never promoted by itself (gitops.md §3).

    Its number does not matter: traffic left it, and only a person knows whether it should come back, and says so with
    `retry`.
    """
    objection = world.record.objection(candidate.digest)
    said_so = objection is not None and objection.lifted is Says.CLEARED
    return candidate.was_active and not said_so

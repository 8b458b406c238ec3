"""Facts about the versions of an app: whether those that Git names can be told apart by their digests, which are live,
which objects live traffic depends on, and how far the rollout of each has got.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core import names
from gitops_bg.core.model.auxiliary import ROUTES
from gitops_bg.core.model.desired import Missing, Problem
from gitops_bg.core.model.digest import is_computed_here, same_content
from gitops_bg.core.model.record import Record, Rollout, SwitchKind
from gitops_bg.core.model.spec import Strategy
from gitops_bg.core.model.statements import Says
from gitops_bg.core.model.version import Color, ReleaseId, Snapshot, Version, short
from gitops_bg.core.names import configuration_name
from gitops_bg.core.world import World

# --- whether Git names it for certain ---

PRIMARY = "primary.yaml"


def accepted(world: World) -> World:
    """Return the world as far as its documents name versions that are known for certain.

    A document whose version is not is as one that cannot be read: what it said last holds, and nothing new starts.
    """
    desired = world.desired
    if trouble := unknown_digest(world):
        world = replace(
            world, desired=replace(desired, primary=Missing.UNREADABLE, problems=(*desired.problems, trouble))
        )
    if both := digest_collision(world):
        unclear = replace(world.desired, target=Missing.UNREADABLE, primary=Missing.UNREADABLE, twins=both)
        world = replace(world, desired=unclear)
    return world


def unknown_digest(world: World) -> Problem | None:
    """Return what is wrong with a ``primary.yaml`` whose digest has the prefix of another release.

    Such a digest cannot be compared with the content, so the content must be that of a known version (DESIGN §3.3).
    """
    primary = world.desired.primary
    if not primary or is_computed_here(primary.snapshot.digest) or _is_known(world, primary.snapshot):
        return None
    prefix = primary.snapshot.digest.partition(":")[0]
    message = f"its digest begins with {prefix}:, which this release does not compute, and it is no version known here"
    return Problem(PRIMARY, message, field="digest", remedy="run the release that wrote it, or revert the change")


def _is_known(world: World, snapshot: Snapshot) -> bool:
    named = world.record.version(snapshot.digest)
    if named is not None and named.snapshot.text:
        return same_content(named.snapshot, snapshot)
    return any(same_content(one, snapshot) for one in _known(world))


def _known(world: World) -> Iterator[Snapshot]:
    yield from (version.snapshot for version in world.record.versions)
    yield from (view.snapshot for view in world.observed.replica_sets if view.ours)
    if world.target:
        yield world.target.snapshot


def digest_collision(world: World) -> str:
    """Return the two versions that have the same short digest, in a sentence; empty where there are none.

    Services select pods by it: traffic would go to both.
    """
    seen: dict[str, str] = {}
    for name, digest in _named(world):
        other = seen.setdefault(short(digest), name)
        if other != name:
            return (
                f"{other} and {name} both have the short digest {short(digest)}, by which Services select pods: "
                "change anything in the pod template of target.yaml, such as an annotation"
            )
    return ""


def has_twin(world: World, version: Version) -> bool:
    """Return whether another version of the record has the short digest of this one."""
    others = (other.digest for other in world.record.versions if other.digest != version.digest)
    return short(version.digest) in map(short, others)


def _named(world: World) -> Iterator[tuple[str, str]]:
    """Yield every version that has pods or may get some, by its name in a sentence, and its digest; each once."""
    named = {version.digest: f"v{version.number} ({version.digest})" for version in world.record.versions}
    for file, digest in (("target.yaml", world.target_digest), (PRIMARY, world.primary_digest)):
        if digest:
            named.setdefault(digest, f"that of {file} ({digest})")
    yield from ((name, digest) for digest, name in named.items())


# --- its ReplicaSet, its life, its color ---


def live_name(world: World, version: Version) -> str:
    """Return the name of the ReplicaSet of a version: of the one that exists, else the one that it is created with."""
    view = world.replica_set(version.digest)
    return view.name if view else names.replica_set_name(world.spec.app, version.number, version.digest)


def is_live(world: World, digest: str) -> bool:
    """Return whether traffic goes, may go or is about to go to a version, by record or by the live Service (I2)."""
    switch = world.record.routing.switch
    decided = switch is not None and digest == switch.to_digest
    return world.is_selected(digest) or decided or digest in (world.record.routing.traffic, world.desired_digest)


def warm_until(record: Record, strategy: Strategy, version: Version) -> datetime | None:
    """Return when a retired version is archived: an edited delay applies at once, even to versions retired before
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
    """Return whether a rollback that some Services have followed, and another one refuses, goes on although main names
    a third version: until the gates of that one are open, nothing may lead to what was to be left.
    """
    switch = world.record.routing.switch
    if switch is None or switch.withdrawn or switch.switch_kind is not SwitchKind.ROLLBACK:
        return False
    to = world.record.version(switch.to_digest)
    is_third = world.desired_digest not in (switch.to_digest, switch.from_digest)
    return is_third and to is not None and to.was_active and world.is_selected(to.digest)


def next_color(world: World) -> Color:
    """Return the color that the active version does not have; blue for the first (DESIGN §2)."""
    serving = world.active or world.record.version(world.desired_digest)
    return serving.color.other if serving else Color.BLUE


def is_old_tag(world: World, candidate: Version) -> bool:
    """Return whether a version served before: an old tag that is pushed again is never promoted by itself (gitops.md
    §3).

    Its number does not matter: traffic left it, and only a person knows whether it should come back, and says so with
    `retry`.
    """
    objection = world.record.objection(candidate.digest)
    said_so = objection is not None and objection.lifted is Says.CLEARED
    return candidate.was_active and not said_so


def leads_back(world: World, version: Version) -> bool:
    """Return whether ``primary.yaml`` names a version that is older than the serving one, by its number or by that of
    its release: the promotion of what serves was taken back, perhaps before this cluster served the older one.
    """
    active, primary = world.active, world.desired.primary
    if active is None or not primary or world.primary_digest != version.digest:
        return False
    here, there = active.release, primary.release
    if here is not None and there is not None and here.number and there.number and here.number != there.number:
        return there.number < here.number
    return version.number < active.number


def numbered(world: World, release: ReleaseId, version: Version) -> ReleaseId:
    """Return the release of a version with its number. What came in has one; in the first environment it is that of
    its version: the one in ``primary.yaml``, where that names it, so that every cluster says the same.
    """
    if release.number:
        return release
    primary, known = world.desired.primary, version.release
    named = primary.release if primary and world.primary_digest == version.digest else None
    return replace(release, number=(named or known or release).number or version.number)


SERVICE, REPLICA_SET, APP = "Service", "ReplicaSet", "BlueGreenDeployment"


def repair_is_due(world: World, kind: str, name: str) -> bool:
    """Return whether an object that differs, is missing or has another size than the record says is repaired now."""
    of_it = (each for each in world.observed.contests if (each.kind, each.name) == (kind, name))
    return all(each.is_due(world.now, live=carries_traffic(world, kind, name)) for each in of_it)


def pauses(world: World) -> Iterator[datetime]:
    """Yield when each pause between two repairs is over."""
    for each in world.observed.contests:
        yield each.next_repair(live=carries_traffic(world, each.kind, each.name))


def carries_traffic(world: World, kind: str, name: str) -> bool:
    """Return whether live traffic depends on an object: where it goes, the pods that serve it, what these need to
    start.
    """
    if kind == SERVICE:
        return any(name == each for each, _ in world.active_services)
    live = [version for version in world.record.versions if is_live(world, version.digest)]
    if kind == REPLICA_SET:
        return any(name == live_name(world, version) for version in live)
    used = (ref for version in live for ref in version.snapshot.configuration if ref.kind == kind)
    return kind in ROUTES or any(name == configuration_name(world.spec.app, ref) for ref in used)


def reached(world: World, rollout: Rollout) -> Rollout:
    """Return the rollout with the milestones reached by now; a milestone once reached stays."""
    if rollout.settled_at or (rollout.outcome and not rollout.outcome.good):
        return rollout
    version = world.record.version(rollout.digest)
    if version is None or version.rollout != rollout.number:
        return rollout
    named = world.desired.primary if world.primary_digest == version.digest else None
    serves = version.digest == world.record.routing.traffic
    moments = {
        "available_at": rollout.available_at or version.available_since,
        "promoted_at": rollout.promoted_at or (world.now if named else None),
        "commit": rollout.commit or (named.changed_by.commit if named else ""),
        "switched_at": rollout.switched_at or (version.activated_at if serves else None),
        "settled_at": _settled_at(rollout, version),
    }
    news = {name: moment for name, moment in moments.items() if moment != getattr(rollout, name)}
    return replace(rollout, **news) if news else rollout  # type: ignore[arg-type]


def _settled_at(rollout: Rollout, version: Version) -> datetime | None:
    if version.routed_at is None or rollout.finished_at is None:
        return None
    return max(version.routed_at, rollout.finished_at)

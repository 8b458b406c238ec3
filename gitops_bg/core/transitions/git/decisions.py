"""The steps that follow a change of ``primary.yaml``, and overrides, which move traffic before that (DESIGN §4)."""

from dataclasses import replace

from gitops_bg.core.checks.adoption.release import moves_no_more
from gitops_bg.core.checks.git.main import asks_for_names
from gitops_bg.core.delivery.holds import lift_hold, put_hold
from gitops_bg.core.model.desired import Primary
from gitops_bg.core.model.git.journal import Named, awaited
from gitops_bg.core.model.record import Event, Record
from gitops_bg.core.model.statements import Cause, Says, Statement
from gitops_bg.core.model.version import Snapshot, Source, Stage, Version
from gitops_bg.core.transitions.traffic.holds import is_wanted_since, overrule_retry
from gitops_bg.core.transitions.versions.versions import register, retain, start_rollout
from gitops_bg.core.way_back import can_roll_back_to
from gitops_bg.core.world import World

# --- in which order it named versions, and which of them main reverted (decision 18) ---
# The line grows with each promotion. It is cut where main names again what it named or what served before: everything
# after that was reverted. The line does not depend on who looked, or when.

MOST_NAMED = 11
"""How many digests a record keeps: the one named now, and ten before."""


def record_named(record: Record, names: tuple[str, ...]) -> tuple[Record, tuple[str, ...]]:
    """Return the record after ``primary.yaml`` named these digests, oldest first, and the digests reverted since.

    Digests that served and were left are not among the reverted: nothing promotes them by itself.
    """
    line = record.git.named
    settled = frozenset(record.routing.activations).intersection(line[:-1]).difference(names)
    gone: list[str] = []
    for name in names:
        kept = _kept(record, line, name)
        gone += (digest for digest in line if digest not in kept)
        line = (*kept, name)
    taken_back = tuple(digest for digest in dict.fromkeys(gone) if digest not in line and digest not in settled)
    return record.with_part(replace(record.git, named=line[-MOST_NAMED:])), taken_back


def _kept(record: Record, line: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return the digests still promoted once main names ``name``: those named, or first promoted, before ``name``."""
    if name in line:
        return line[: line.index(name)]
    if name == record.routing.traffic or name in record.routing.activations:
        return tuple(digest for digest in line if record.came_before(digest, name))
    return line


# --- what it names, and what is to serve instead ---


def clear_hold_of_named(world: World, snapshot: Snapshot) -> World:
    """Lift the hold on what ``primary.yaml`` named between two looks, and names no longer: somebody wanted it. So of a
    version that the target has passed over since.

    Not one that awaits this look: what the look brings is older (decision 17).
    """
    digest = world.resolve(snapshot)
    hold = world.record.objection(digest)
    if hold is None or hold.awaits or digest == world.primary_digest:  # What main names is noted by follow_primary.
        return world
    return lift_hold(world, digest, how=Says.NAMED, reason="primary.yaml named it since")


def follow_primary(world: World) -> World:
    """Note what ``primary.yaml`` names; a change of it is a decision of a person.

    It ends an override, lifts the hold on the version it names, and holds promotions that were reverted before traffic
    moved, whether the agent saw them or not: the result does not depend on when the agent looks.
    """
    primary = world.desired.primary
    if not primary:  # Absent: the app goes on serving. Unreadable, or not read yet: the last content holds.
        return world
    before, named, asked = world.record.git.primary, world.primary_digest, asks_for_names(world.desired, world.record)
    overridden, world = world.record.override, _end_override(world, named, is_changed=bool(asked))
    is_answered = overridden is not None and world.record.override is None
    world = _ensure_version(world, primary, named)
    if named != before or is_answered:
        reason, by = "primary.yaml names it again", primary.changed_by.author
        world = lift_hold(world, named, how=Says.NAMED, reason=reason, by=by)
    names = (world.resolve(said.snapshot) for _, said in world.desired.journal.of(Named) if asked)
    record, taken_back = record_named(world.record, (*names, named))
    world = _hold_reverted(world.with_record(record), taken_back, primary.changed_by)
    if asked and not world.desired.journal.since:  # Unknown at present: the agent asks again.
        return world
    return world.with_part(replace(world.record.git, primary_by=primary.changed_by.commit))


def _ensure_version(world: World, primary: Primary, named: str) -> World:
    version = world.record.version(named)
    if version is None:
        return register(world, primary.snapshot, primary.source, primary.version)
    if named == world.record.routing.traffic or world.desired_digest != named:
        return world
    if not version.retiring and version.stage in (Stage.CANDIDATE, Stage.LEGACY):
        return world
    if can_roll_back_to(world.record, version):
        return world.with_version(retain(world, version))
    return start_rollout(world, version)


def _end_override(world: World, named: str, *, is_changed: bool) -> World:
    """End the override once Git and traffic agree with it, or when main names another version than before: a newer
    decision. So does one that names the same again, where main's own history had asked for the override: all that came
    later is newer.
    """
    override = world.record.override
    if override is None:
        return world
    arrived = named == override.to_digest == world.record.routing.traffic
    is_known = named == world.record.git.primary and not (override.commit and is_changed)
    if not arrived and (override.awaits or named == override.to_digest or is_known):
        return world
    world = world.with_record(world.record.without_override())
    if not override.diverged:
        return world
    reason = "primary.yaml follows live traffic again" if arrived else "primary.yaml names another version"
    return world.with_ledger_entry(Event.CONVERGED, to=world.record.version(named), reason=reason)


def _hold_reverted(world: World, digests: tuple[str, ...], change: Source) -> World:
    """Hold what ``primary.yaml`` named and main reverted: without a hold it would be offered again at once.

    Not the serving version, nor one that traffic may go back to.
    """
    for digest in digests:
        if digest == world.record.routing.traffic or is_wanted_since(world, digest, change):
            continue
        world = _registered(world, digest)
        version = world.record.version(digest)
        if version is None or can_roll_back_to(_serving(world), version):
            continue
        reason = f"its promotion was taken back by {change.commit[:10]}"
        world = overrule_retry(world, digest, change)
        world = put_hold(world, version.digest, cause=Cause.TAKEN_BACK, reason=reason, by=change.author)
    return world


def _serving(world: World) -> Record:
    """The record as a rollback needs it: in a rebuilt cluster where nothing serves yet, the version to serve counts as
    serving.
    """
    return world.record.with_part(
        replace(world.record.routing, traffic=world.record.routing.traffic or world.primary_digest)
    )


def _registered(world: World, digest: str) -> World:
    """Register the target's version if it is new, because it was pushed since."""
    if world.record.version(digest) or not world.target or digest != world.target_digest:
        return world
    return register(world, world.target.snapshot, world.target.source)


def overrule_target(world: World) -> World:
    """Note a later decision about traffic, so that the revert in the target's commit no longer counts.

    A commit that names nothing is not noted: its own revert would pass for the revert of a revert, and lift a hold.
    """
    for source, told in world.desired.journal.targeted[:1]:
        if told.named:
            return world.with_part(replace(world.record.git, target_revert=source.commit))
    return world


def override(world: World, to: Version, *, cause: Cause, reason: str, by: str, commit: str = "") -> World:
    """Send traffic where Git does not say yet; the commit follows (DESIGN §4.5). Nowhere, once an adopted app gives it
    back: that is finished, whatever anybody asks by then.

    ``commit``: that of main which asks for it, so everything later in main is newer.
    """
    if moves_no_more(world):
        return world
    world = overrule_target(world.with_version(retain(world, to)))
    awaits, named = None if commit else awaited(world.desired.looks), world.record.git.primary
    wanted = Statement(to.digest, Says.WANTED, world.now, cause, reason, by, commit, awaits, instead_of=named)
    return world.with_record(world.record.saying(wanted))


def record_divergence(world: World) -> World:
    """Note in the ledger, once, that main refuses the commit of an emergency rollback."""
    pending, git = world.record.override, world.observed.git
    if pending is None or pending.diverged or not git.main_refused or world.record.routing.traffic != pending.to_digest:
        return world
    world = world.with_record(world.record.with_divergence())
    reason = f"main refuses the commit ({git.main_refused}); it is offered on the promotion branch"
    return world.with_ledger_entry(Event.DIVERGED, to=world.active, by=pending.by, reason=reason)

"""The steps that follow a change of ``primary.yaml`` or of the promotion branch, and the overrides and aborts that come
before main has followed (DESIGN §4, decision 31).

An abort puts a hold on the version, whoever asks for it, and never touches live traffic. Of a retry and a change that
speaks against its digest, the one counts that came into main later (`core.delivery.holds`).
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.checks.adoption import moves_no_more
from gitops_bg.core.checks.git import asks_for_names, given_up_at, is_declined, is_held_by_closing
from gitops_bg.core.delivery.holds import can_roll_back_to, lift_hold, put_hold
from gitops_bg.core.environments.proven import MOST_PROVEN, EnvironmentInput, RefusedRelease
from gitops_bg.core.model.actions import OfferPromotion
from gitops_bg.core.model.desired import Primary
from gitops_bg.core.model.journal import (
    Merge,
    Named,
    PullRequest,
    PullState,
    Retried,
    awaited,
    offer_of,
    offer_of_release,
)
from gitops_bg.core.model.record import Event, PendingMergeLookup, Record, Switch, SwitchKind
from gitops_bg.core.model.statements import Cause, Says, Statement
from gitops_bg.core.model.version import ReleaseId, Snapshot, Source, Stage, Version
from gitops_bg.core.plan.git import write_to_git
from gitops_bg.core.transitions.versions import register, retain, start_rollout
from gitops_bg.core.world import World


def overrule_retry(world: World, digest: str, decided: Source) -> World:
    """Drop a retry that came into main before a change that speaks against its digest.

    Otherwise a retry that could not be answered yet, of a suspended app, would later answer that change.
    """
    retry, asked = world.spec.retry, world.desired.journal.by(Retried)
    if retry is None or asked is None or retry.digest != digest or retry.number <= world.record.operator.retry:
        return world
    return world.with_part(replace(world.record.operator, retry=retry.number)) if decided.landed_after(asked) else world


def is_wanted_since(world: World, digest: str, decided: Source) -> bool:
    """Return whether a retry of a digest came into main after a change that speaks against it, and the record has
    answered it.

    A new record has answered all existing retries, and learns of the change only afterwards.
    """
    retry, asked = world.spec.retry, world.desired.journal.by(Retried)
    if retry is None or asked is None or retry.digest != digest or retry.number > world.record.operator.retry:
        return False
    return bool(asked.landed_after(decided))


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
    """Return the record as a rollback needs it: in a rebuilt cluster where nothing serves yet, the version to serve
    counts as serving.
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


def abort_rollout(world: World, version: Version, *, cause: Cause, reason: str, by: str = "") -> World:
    """Abort a version on its way: hold it, and make ``primary.yaml`` name the live version again where it named this
    one.
    """
    waits, active = awaited(world.desired.looks), world.active
    world = put_hold(world, version.digest, cause=cause, reason=reason, by=by, event=Event.ABORTED, awaits=waits)
    if active is None or world.desired_digest != version.digest:
        return world
    return override(world, active, cause=cause, reason=reason, by=by)


def record_offer(world: World) -> World:
    """Record what the agent itself offers: it may withdraw that, but not what a person, or another cluster, put on the
    branch.
    """
    git = world.observed.git
    offers = [action.version.digest for action in write_to_git(world) if isinstance(action, OfferPromotion)]
    gone = (git.promotion is None or git.promotion.offered_here is False) and not git.unreachable
    offered = offers[0] if offers else ("" if gone else world.record.git.offered)
    return world if offered == world.record.git.offered else world.with_part(replace(world.record.git, offered=offered))


def track_extra_files(world: World) -> World:
    """Remember that the branch offers a version together with other files, until that is over (policies.md §5).

    A squash or a rebase may leave no trace of it on main. It is over when the branch holds ``primary.yaml`` alone, or,
    once main names the version, when that was taken back or serves. A branch that main has says nothing more.
    """
    git, policing = world.observed.git, world.desired.policing
    if git.unreachable or not world.main_counts or policing is None:
        return world
    known, branch = world.record.git.beside, git.promotion
    waits = known and known == world.named and known != world.record.routing.traffic
    offers = branch is not None and branch.digest != world.named and bool(policing.beside)
    beside = known if waits else (branch.digest if branch and offers else "")
    return world if beside == known else world.with_part(replace(world.record.git, beside=beside))


def sync_pull_request(world: World) -> World:
    """Hold what a closed pull request offered. A reopened one lifts that hold, and no other."""
    pull = world.observed.git.pull
    if pull is None or pull.seen_at is None or not world.main_counts:
        return world
    match pull.state:
        case PullState.CLOSED:
            return _hold(world, pull)
        case PullState.OPEN:
            return _lift(world, pull)
        case PullState.MERGED:
            return world


def _hold(world: World, pull: PullRequest) -> World:
    candidate = world.candidate
    if candidate is None or candidate.digest == world.primary_digest or not is_declined(world, candidate):
        return world
    if pull.seen_at is None or not pull.seen_at.is_over(world.desired.looks):
        return world
    who = pull.closed_by or "somebody"
    reason = f"{who} closed pull request #{pull.number}; reopening it lifts this, too"
    return put_hold(world, candidate.digest, cause=Cause.CLOSED, reason=reason, by=pull.closed_by)


def _lift(world: World, pull: PullRequest) -> World:
    version = world.record.version(world.target_digest)
    if version is None or not is_held_by_closing(world, version.digest):
        return world
    if pull.offer != offer_of(version, world.spec):
        return world
    return lift_hold(world, version.digest, how=Says.CLEARED, reason=f"pull request #{pull.number} was reopened")


def sync_entry_pull(world: World) -> World:
    """Keep a release out of the environment whose pull request somebody closed. A reopened one lifts that, and so does
    the release that came in all the same.
    """
    environment, pull, git = world.desired.environment, world.observed.git.entry_pull, world.record.git
    if environment is None or not world.main_counts:
        return world
    refused = {offer_of_release(each.release): each for each in git.refused}
    if pull is not None and pull.seen_at is not None and pull.state is PullState.OPEN:
        refused.pop(pull.offer, None)
    elif pull is not None and pull.seen_at is not None and pull.seen_at.is_over(world.desired.looks):
        why = f"{pull.closed_by or 'somebody'} closed pull request #{pull.number}; reopening it lifts this"
        asked = (each for each in _asked_for(environment) if offer_of_release(each) == pull.offer)
        refused |= {offer_of_release(each): RefusedRelease(each, why) for each in asked}
    entered = environment.entered.id.digest if environment.entered is not None else ""
    found = tuple(each for each in refused.values() if each.release.digest != entered)[-MOST_PROVEN:]
    return world if found == git.refused else world.with_part(replace(git, refused=found))


def _asked_for(environment: EnvironmentInput) -> Iterator[ReleaseId]:
    """Yield the releases that a pull request may have asked for."""
    if environment.offered is not None and environment.offered.release is not None:
        yield environment.offered.release.id
    yield from (replace(each.id, commit=each.commit) for each in environment.known)


def ask_who_merged(world: World, switch: Switch, to: Version) -> World:
    """Ask who merged a promotion that was just carried out, if a forge may know."""
    if switch.switch_kind is not SwitchKind.PROMOTION or not switch.commit or not world.observed.git.has_forge:
        return world
    asked = PendingMergeLookup(switch.commit, to.digest, world.now)
    git = world.record.git
    return world.with_part(replace(git, asked_merges=(*git.asked_merges, asked)))


def sync_merge_metadata(world: World) -> World:
    """Write one entry for each answer, and one for each question without an answer in time; none if no
    forge merged it.
    """
    told = {merge.commit: merge for merge in world.observed.git.merges}
    for asked in world.record.git.asked_merges:
        answer = told.get(asked.commit)
        if answer is None and world.now < given_up_at(asked):
            continue
        world = _without(_with_merge(world, asked, answer), asked)
    return world


def _with_merge(world: World, asked: PendingMergeLookup, answer: Merge | None) -> World:
    version = world.record.version(asked.digest)
    if version is None or (answer is not None and not answer.number):
        return world
    if answer is None:
        return world.with_ledger_entry(Event.MERGED, to=version, commit=asked.commit, reason=_unknown(world))
    named = f"pull request #{answer.number} {answer.url}".rstrip()
    approved = f"approved by {', '.join(answer.approved_by)}" if answer.approved_by else "without an approval"
    return world.with_ledger_entry(
        Event.MERGED,
        to=version,
        commit=asked.commit,
        by=answer.by,
        reason=f"{named}, {approved}",
        approved_by=answer.approved_by,
    )


def _unknown(world: World) -> str:
    why = world.observed.git.pull_trouble or "the forge gave no answer in an hour"
    return f"nobody could tell who merged and who approved it: {why}"


def _without(world: World, asked: PendingMergeLookup) -> World:
    git = world.record.git
    return world.with_part(replace(git, asked_merges=tuple(each for each in git.asked_merges if each != asked)))

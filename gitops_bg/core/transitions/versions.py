"""The steps in the life of versions: registered, wanted again, restarted (`restartAt`, argo-rollouts.md §1.3), kept
warm, archived and forgotten, with the analyses that end with them.
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.checks.pods import may_still_serve, waits_for_room
from gitops_bg.core.checks.sizes import RECHECK, PodGroup, is_old, may_go_on, refused_pods, serves
from gitops_bg.core.checks.versions import is_live, next_color, numbered, warm_until
from gitops_bg.core.delivery.analyses import POST, SETTLED
from gitops_bg.core.delivery.holds import lift_others, put_hold
from gitops_bg.core.foreign_json import tag_of
from gitops_bg.core.model.analysis import AnalysisRun, restarted
from gitops_bg.core.model.desired import Target
from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.record import Event, Restart
from gitops_bg.core.model.statements import Hold, Says
from gitops_bg.core.model.version import (
    UNKNOWN,
    ReleaseId,
    Retirement,
    Snapshot,
    Source,
    Stage,
    StageEvent,
    Version,
    can,
    stage_after,
)
from gitops_bg.core.world import World


def retire(world: World, version: Version, *, aborted: bool = False) -> Version:
    """Return ``version`` as no longer wanted: warm for the delay of its retirement, then archived."""
    return replace(version, retirement=Retirement(world.now, aborted), waiting_since=None)


def archive(world: World) -> World:
    """Archive versions whose delay is over, at 0 pods. Up to the limit they keep their delay: what one would go back to
    before what never served, the newest first. What never served makes room at once for what waits for it.
    """
    if world.suspended:
        return world
    back = world.rollback_target
    retiring = sorted(
        (version for version in world.record.versions if version.retiring),
        key=lambda version: (version == back, version.was_active, version.arrived, version.number),
        reverse=True,
    )
    limit = world.spec.strategy.scale_down_delay_revision_limit
    warm = retiring if limit is None else retiring[:limit]
    needed, crowded = _on_call(world), waits_for_room(world)
    for version in retiring:
        until = warm_until(world.record, world.spec.strategy, version)
        late = until is not None and until <= world.now
        in_the_way = crowded and not version.was_active
        if version.digest != needed and (version not in warm or late or in_the_way):
            world = _archive(world, version)
    return world


def _on_call(world: World) -> str:
    """Return the digest to keep for a rollback, while the version on probation fails (``core.checks.pods``); or
    empty.
    """
    stabilization = world.active.stabilization if world.active else None
    good = world.rollback_target if stabilization and stabilization.unready else None
    return good.digest if good else ""


def _archive(world: World, version: Version) -> World:
    if is_live(world, version.digest) or world.record.keeps_warm(version.digest) or may_still_serve(world, version):
        return world
    archived = replace(
        version,
        stage=stage_after(version.stage, StageEvent.EXPIRED),
        retirement=None,
        available_since=None,
        waiting_since=None,
    )
    return world.with_version(archived)


def forget_runs(world: World) -> World:
    """Forget the oldest runs beyond the limits, also after the limits were lowered, and runs of forgotten versions."""
    spec, before = world.spec, world.record.analyses
    kept_ones = before.within(
        spec.successful_run_history_limit,
        spec.unsuccessful_run_history_limit,
        lambda run: world.record.version(run.digest) is not None,
    )
    return world if kept_ones is before else world.with_part(kept_ones)


def skip_verdict(world: World, by: str) -> World:
    """End the analysis of the serving version early, because somebody accepts the version as it is."""
    run, active = world.record.run(POST), world.active
    if run is None or active is None or not run.open:
        return world
    world = release_fallback(_without_run(world, run), run)
    return world.with_ledger_entry(Event.SKIPPED, to=active, by=by, reason=f"{POST.called}: {run}")


def release_fallback(world: World, run: AnalysisRun) -> World:
    """Start the scale-down delay of the former version with the end of the run, unless traffic or somebody wants it
    again.
    """
    version = world.record.version(run.fallback)
    if version is None or not version.retiring:
        return world
    return world.with_version(retire(world, version, aborted=version.aborted))


def measure_again(world: World, about: tuple[str, ...]) -> World:
    """Answer a pause for an operator: start the inconclusive runs of these versions anew."""
    for run in world.record.analyses.runs:
        world = _with_run(world, restarted(run)) if run.paused and run.digest in about else world
    return world


def paused_versions(world: World) -> tuple[str, ...]:
    """Return the digests of the versions whose analysis was inconclusive, and waits for a person."""
    return tuple(run.digest for run in world.record.analyses.runs if run.paused)


def retry_live(world: World, version: Version, by: str, commit: str) -> World:
    """Retry the serving version: a new, numbered rollout that only has to pass the run after promotion."""
    run, contract = world.record.run(POST), world.record.run(SETTLED)
    if contract is not None and contract.digest == version.digest and (contract.bad or contract.paused):
        world = _with_run(world, restarted(contract))
        return world.with_ledger_entry(Event.RETRIED, to=version, by=by, commit=commit)
    if run is None or not run.paused or run.digest != version.digest:
        return world
    retried = replace(version, rollout=world.record.rollout + 1, rollout_started_at=world.now)
    world = world.with_record(replace(world.record, rollout=retried.rollout)).with_version(retried)
    world = _with_run(world, restarted(run, retried.rollout))
    return world.with_ledger_entry(Event.RETRIED, to=retried, by=by, commit=commit)


def _with_run(world: World, run: AnalysisRun) -> World:
    return world.with_part(world.record.analyses.with_run(run, world.now))


def _without_run(world: World, run: AnalysisRun) -> World:
    return world.with_part(world.record.analyses.without_run(run, world.now))


AGAIN = "it is the target again, and was given up: "


PAST_DIGESTS = 100
"""How many digests of versions that served a record keeps, in addition to those of its versions."""


def register(
    world: World, snapshot: Snapshot, source: Source, number: int = 0, release: ReleaseId | None = None
) -> World:
    """Give a snapshot that the record does not know a version, a color and a rollout of its own.

    ``number``, or the one that the ledger knows, is kept where it is free, so that Git and a rebuilt cluster agree.
    """
    record = world.record
    number = number or _number_before(world, snapshot.digest)
    if not number or record.numbered(number):
        number = record.last_version + 1
    served = snapshot.digest in record.routing.activations
    version = Version(
        number=number,
        snapshot=snapshot,
        color=next_color(world),
        stage=stage_after(UNKNOWN, StageEvent.WANTED),
        source=source,
        rollout=record.rollout + 1,
        rollout_started_at=world.now,
        waiting_since=world.now,
        activated_at=world.now if served else None,
        left_at=world.now if served else None,
        tag=tag_of(snapshot.text),
        release=release,
    )
    record = replace(record, rollout=version.rollout, last_version=max(record.last_version, number))
    return world.with_record(record.with_version(version))


def _number_before(world: World, digest: str) -> int:
    """Return the number that the ledger knows for a digest, where the ledger was read because the record was lost;
    0 for none.
    """
    memory = world.desired.memory
    return dict(memory.numbers).get(digest, 0) if memory else 0


def start_rollout(
    world: World, version: Version, source: Source | None = None, release: ReleaseId | None = None
) -> World:
    """Begin a new, numbered attempt to promote a known version; nothing of an earlier attempt counts."""
    started = replace(
        version,
        snapshot=world.snapshot(version),
        stage=stage_after(version.stage, StageEvent.WANTED),
        retirement=None,
        color=next_color(world),
        source=source or version.source,
        release=release or version.release,
        rollout=world.record.rollout + 1,
        rollout_started_at=world.now,
        available_since=None,
        waiting_since=world.now,
        failure="",
    )
    record = replace(world.record, rollout=started.rollout)
    return world.with_record(record.with_version(started))


def retain(world: World, version: Version) -> Version:
    """Return ``version`` with its text, without a deadline, out of the archive: traffic is to go back to it."""
    stage = stage_after(version.stage, StageEvent.RECALLED)
    return replace(version, snapshot=world.snapshot(version), stage=stage, retirement=None)


def choose_candidate(world: World) -> World:
    """Follow the target: register a new version, supersede or cancel versions no longer wanted (DESIGN §4)."""
    if not world.frozen:
        world = _with_releases(_follow_target(world))
    return _release_unwanted(world)


def _with_releases(world: World) -> World:
    """Note of which release the versions are that Git names. The same version may be wanted of another one: then it is
    of that. A release that has no number yet gets that of its version, as ``primary.yaml`` says it; later numbers are
    higher.
    """
    primary, target = world.desired.primary, world.target
    named = world.record.version(world.primary_digest) if primary and primary.release else None
    if primary and primary.release and named is not None:
        world = world.with_record(replace(world.record, last_version=max(world.record.last_version, primary.version)))
        if named.release is None or named.release.digest == primary.release.digest:
            commit = named.release.commit if named.release else primary.release.commit
            release = replace(primary.release, commit=commit)
            world = world.with_version(replace(named, release=release))
    wanted = world.record.version(world.target_digest)
    if wanted is None or not target or target.release is None:
        return world
    known, release = wanted.release, numbered(world, target.release, wanted)
    if known is not None and (known.number, known.digest) == (release.number, release.digest):
        return world
    return world.with_version(replace(wanted, release=release))


def _follow_target(world: World) -> World:
    target, digest = world.target, world.target_digest
    if not target or digest == world.record.routing.traffic or world.record.held(digest):
        return world
    version, objection = world.record.version(digest), world.record.objection(digest)
    if version and (digest == world.desired_digest or (version.stage is Stage.CANDIDATE and not version.retiring)):
        return world
    if objection and objection.lifted is Says.PASSED_OVER:
        return _hold_again(world, target, objection)
    if version is None:
        world = lift_others(world, digest, "the target names a new version")
        world = register(world, target.snapshot, target.source, release=target.release)
    else:
        world = start_rollout(world, version, target.source, target.release)
    return world.with_ledger_entry(
        Event.CANDIDATE,
        to=world.record.version(digest),
        origin=world.active,
        commit=world.desired.commit,
        by=target.source.author,
        reason=target.source.subject,
    )


def _hold_again(world: World, target: Target, objection: Hold) -> World:
    """Put the hold that a newer target had lifted back: naming the version again does not clear it."""
    digest = world.resolve(target.snapshot)
    if world.record.version(digest) is None:
        world = register(world, target.snapshot, target.source, release=target.release)
    version, known = world.record.version(digest), objection.reason.removeprefix(AGAIN)
    if version is None:
        return world
    return put_hold(world, version.digest, cause=objection.cause, reason=f"{AGAIN}{known}", by=target.source.author)


def _release_unwanted(world: World) -> World:
    for version in world.record.versions:
        if not version.retiring and version.stage is not Stage.ARCHIVED and not _is_wanted(world, version):
            world = _release(world, version)
    return world


def _is_wanted(world: World, version: Version) -> bool:
    if version.digest in (world.record.routing.traffic, world.desired_digest):
        return True
    if world.record.held(version.digest):
        return False
    # Where the target cannot be read or nothing new may start, the version it last named stays as it is.
    unclear = world.frozen or not world.target
    return version.stage is Stage.CANDIDATE and (unclear or version.digest == world.target_digest)


def _release(world: World, version: Version) -> World:
    held = world.record.held(version.digest)
    world = world.with_version(retire(world, version, aborted=held is not None))
    if held or version.stage is not Stage.CANDIDATE:
        return world
    wanted, source = world.record.version(world.target_digest), world.target.source if world.target else Source("")
    event, reason = Event.SUPERSEDED, "the target names a newer version"
    if world.target_digest == world.record.routing.traffic:
        event, reason = Event.CANCELLED, "the target names the active version again"
    elif wanted and wanted.number < version.number:
        event, reason = Event.CANCELLED, f"the target went back to {wanted.name}"
    commit = source.commit or world.desired.commit
    return world.with_ledger_entry(event, to=wanted, origin=version, commit=commit, by=source.author, reason=reason)


def forget(world: World) -> World:
    """Forget the oldest archived versions beyond ``revisionHistoryLimit``, then the analyses beyond their limits."""
    return forget_runs(_forget_versions(world))


def _forget_versions(world: World) -> World:
    """Forget the oldest archived versions, and remove texts that the record does not need.

    The last good version is never forgotten, and keeps its text: a rollback must stay possible (I6). That a forgotten
    version served, or was bad, stays known by its digest: a revert to it has the same effect (gitops.md §3).
    """
    record, needed = world.record, _needed(world)
    archived = [version for version in record.versions if can(version.stage, StageEvent.FORGOTTEN)]
    spare = [version for version in archived if version.digest not in needed]
    excess = spare[: max(0, len(archived) - world.spec.revision_history_limit)]
    kept = tuple(_kept(world, version, needed) for version in record.versions if version not in excess)
    if kept == record.versions:
        return world
    return world.with_record(replace(record, versions=kept))


def _needed(world: World) -> set[str]:
    good = world.rollback_target
    named = {world.primary_digest, world.target_digest}  # If it were forgotten, it would begin anew in every pass.
    return {world.record.routing.traffic, world.desired_digest, *named, good.digest if good else ""}


def _kept(world: World, version: Version, needed: set[str]) -> Version:
    """Return the version with its text where that is needed; without it where the ReplicaSet has the same text."""
    if version.digest in needed:
        return version if version.snapshot.text else replace(version, snapshot=world.snapshot(version))
    if version.stage is not Stage.ARCHIVED or not version.snapshot.text:
        return version
    view = world.replica_set(version.digest)
    return (
        replace(version, snapshot=replace(version.snapshot, text=""))
        if view and view.snapshot == version.snapshot
        else version
    )


def advance_restart(world: World) -> World:
    """Begin, continue, end or cancel the restart that the spec asks for."""
    at, restart = world.spec.restart_at, world.record.operator.restart
    if at is None or at == world.record.operator.restarted:
        return world if restart is None else _with(world, None)
    if restart is None or restart.at != at:
        restart = Restart(at, world.record.rollout)
    elif restart.rollout != world.record.rollout:
        reason = "a new rollout began, whose pods are new anyway"
        return _ended(world, restart).with_ledger_entry(
            Event.RESTART_CANCELLED, to=world.active, commit=world.desired.commit, reason=reason
        )
    if not may_go_on(world):
        return _with(world, restart)
    begun = replace(restart, begun=world.now >= at)
    return _go_on(_with(world, begun), begun)


def _go_on(world: World, restart: Restart) -> World:
    """Request the next evictions, or end the restart; wait where the pods have not been listed yet."""
    pods = world.observed.pods
    if not restart.begun or pods is None or _waits(world, restart):
        return world
    if restart.youngest is None:
        restart = replace(restart, youngest=max((pod.created_at for pod in pods if is_old(restart, pod)), default=None))
        world = _with(world, restart)
    for version in _in_order(world):
        group = PodGroup.of(world, version)
        old = [pod for pod in group.pods if is_old(restart, pod)]
        if old:
            return _ask(world, restart, version, tuple(_next(group, old)))
    return _finish(world, restart) if _is_whole(world) else world


def _waits(world: World, restart: Restart) -> bool:
    return bool(refused_pods(world)) and restart.asked_at is not None and world.now < restart.asked_at + RECHECK


def _in_order(world: World) -> list[Version]:
    """Return the versions in the order of the restart: the live one, a candidate, then the oldest first."""

    def place(version: Version) -> tuple[bool, bool, int]:
        is_candidate = version.stage is Stage.CANDIDATE and not version.retiring
        return version.digest != world.record.routing.traffic, not is_candidate, version.number

    return sorted(world.record.versions, key=place)


def _next(group: PodGroup, old: list[PodView]) -> Iterator[PodView]:
    """Yield the next pods to evict: all that are not ready; of the others, oldest first, as many as may be missing."""
    yield from (pod for pod in old if not serves(pod))
    serving = sorted((pod for pod in old if serves(pod)), key=lambda pod: (pod.created_at, pod.name))
    yield from serving[: max(0, group.spare)]


def _ask(world: World, restart: Restart, version: Version, pods: tuple[PodView, ...]) -> World:
    if not pods:
        return world
    uids = tuple(pod.uid for pod in pods)
    asked = replace(restart, asked=uids, asked_at=world.now, count=restart.count + len(set(uids) - set(restart.asked)))
    return _with(world.with_version(_given_time(world, version)), asked)


def _given_time(world: World, version: Version) -> Version:
    """Restart the deadlines that still run: pods missing because of the restart are no failure."""
    waiting = version.waiting_since if version.failure else version.waiting_since and world.now
    stabilization = version.stabilization
    if stabilization and stabilization.unready:
        stabilization = replace(stabilization, since=world.now)
    return replace(version, waiting_since=waiting, stabilization=stabilization)


def _is_whole(world: World) -> bool:
    """Return whether the live version has all its pods again."""
    active = world.active
    group = PodGroup.of(world, active) if active else None
    return group is None or group.available >= group.replicas


def _finish(world: World, restart: Restart) -> World:
    world = _ended(world, restart)
    if not restart.count:
        return world
    reason = f"{restart.count} pods older than {restart.at:%Y-%m-%dT%H:%M:%SZ}"
    return world.with_ledger_entry(Event.RESTARTED, to=world.active, commit=world.desired.commit, reason=reason)


def _ended(world: World, restart: Restart) -> World:
    return world.with_part(replace(world.record.operator, restart=None, restarted=restart.at))


def _with(world: World, restart: Restart | None) -> World:
    if restart == world.record.operator.restart:
        return world
    return world.with_part(replace(world.record.operator, restart=restart))

"""What puts a hold on a version of a group, what lifts it, and what operators ask of a group: `abort` in the cluster,
`retry` through Git, and commits that must fit the stages of its versions.

A hold is about a version with what its folder says (`core.delivery.holds`). It is lifted once main names another
version, or the folder says something else; `retry` lifts it, too. What serves again instead of what main names is an
override, until Git follows.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.holds import lift_hold, lift_others, put_hold, speaks_against
from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.groups.model import (
    PromotionRejected,
    Rejection,
    TransitionStep,
    VersionStage,
    version_in,
    version_number,
)
from gitops_bg.core.groups.plan import return_of_override
from gitops_bg.core.groups.record import GroupRecord, TransitionKind
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis import AnalysisStage, restarted
from gitops_bg.core.model.journal import Retried
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.statements import Cause, Says, Statement
from gitops_bg.core.model.version import GroupKey, Source


def hold_version(world: GroupWorld, version: str, cause: Cause, reason: str, by: str = "") -> GroupWorld:
    """Put a hold on a version with its present content, whoever or whatever asks for it: main did not."""
    return put_hold(world, world.digest_of(version), cause=cause, reason=reason, by=by, event=Event.ABORTED)


def may_go_back(world: GroupWorld, version: str) -> bool:
    """Return whether requests may go to a version that served, where the agent chooses it: nothing speaks against what
    its folder says.
    """
    return bool(speaks_against(world.record, world.digest_of(version)))


def leave_version(world: GroupWorld, version: str, back: str, cause: Cause, reason: str, by: str = "") -> GroupWorld:
    """Have the group leave a version that serves, and put a hold on it, unless Git asks for the way back already.

    What it goes back to is there: none leaves while it may be needed (`GroupWorld.fallback`).
    """
    if not back or world.wanted == back:
        return world
    wanted = Statement(
        world.digest_of(back),
        Says.WANTED,
        world.now,
        cause,
        reason,
        by,
        instead_of=world.digest_of(version),
        main_named=world.spec.active,
    )
    world = hold_version(world, version, cause, reason, by)
    return replace(world, record=world.record.saying(wanted))


def go_back_still(world: GroupWorld) -> GroupWorld:
    """Go on with a way back whose record was lost on its way: the ledger knows the hold on what serves, and that it
    served then.

    Where it says that another version did, it is behind: this one came to serve since, through every gate. Where nobody
    can prove who wrote it, it says of none that it served. Then it moves nothing (DESIGN §5).
    """
    record, memory, active = world.record, world.observed.memory, world.record.state.only(VersionStage.ACTIVE)
    hold, legacy = record.held(world.digest_of(active)), record.state.only(VersionStage.LEGACY)
    if memory is None or record.override is not None or record.transition is not None:
        return world
    if memory.serving != active:
        return _serving_all_the_same(world, active, is_behind=bool(memory.serving))
    if hold is None or not legacy or not may_go_back(world, legacy):
        return world
    return leave_version(world, active, legacy, hold.cause, hold.reason)


def _serving_all_the_same(world: GroupWorld, version: str, *, is_behind: bool) -> GroupWorld:
    """Return the group where the ledger cannot speak against what serves: what main names is on hold no longer. That it
    was bad is over as well where it came to serve since.
    """
    digest = world.digest_of(version)
    if world.spec.active == version and world.record.held(digest) is not None:
        world = lift_hold(world, digest, how=Says.NAMED, reason=f"group.yaml names {version}, and it serves")
    is_over = is_behind and world.record.held(digest) is None
    return replace(world, record=world.record.without_objection(digest)) if is_over else world


def lift_answered(world: GroupWorld) -> GroupWorld:
    """Lift what main has answered: it names another version, or the folder of the one on hold says something else."""
    world = _without_answered_override(world)
    if world.record.override is not None:
        return world
    asked_for = world.spec.active
    return lift_others(world, world.digest_of(asked_for), f"main asks for {asked_for}, with what {asked_for}/ says now")


def _without_answered_override(world: GroupWorld) -> GroupWorld:
    """End an override that Git has followed, or answered. The way back is finished first: what serves until then is
    known to be bad.
    """
    override = world.record.override
    if override is None or world.record.transition is not None:
        return world
    left, to = version_in(override.from_digest), version_in(override.to_digest)
    is_back = world.record.state.only(VersionStage.ACTIVE) == to
    is_answered = world.spec.active == to or world.digest_of(left) != override.from_digest
    is_over = (is_back and is_answered) or world.spec.active != override.main_named
    return _without_override(world) if is_over else world


def _without_override(world: GroupWorld) -> GroupWorld:
    """Return the group without its override; the ledger is told where it knows that main refused the commit."""
    override = world.record.override
    world = replace(world, record=world.record.without_override())
    if override is None or not override.diverged:
        return world
    asked, serves = world.spec.active, world.record.state.only(VersionStage.ACTIVE)
    until = f"; {serves} serves until its gates are open" if serves != asked else ""
    arrived = asked == version_in(override.to_digest)
    reason = "group.yaml follows live traffic again" if arrived else f"group.yaml asks for {asked}{until}"
    return world.with_ledger_entry(Event.CONVERGED, to=asked, reason=reason)


def try_again(world: GroupWorld, digest: str, by: str) -> GroupWorld:
    """Lift the hold on a version, and end the override that left it; once requests are back, also where the version
    is another one, which main names.
    """
    override, asked_for = world.record.override, world.digest_of(world.spec.active)
    is_back = override is not None and version_in(override.to_digest) == world.record.state.only(VersionStage.ACTIVE)
    is_over = override is not None and (override.from_digest == digest or (is_back and digest == asked_for))
    if world.record.held(digest) is not None:
        world = lift_hold(world, digest, how=Says.CLEARED, reason="retried", by=by)
    return _without_override(world) if is_over else world


def record_refused_commit(world: GroupWorld) -> GroupWorld:
    """Note once that main refuses the commit of a way back, where there is one to make."""
    override, refused, wanted = world.record.override, world.observed.main_refused, return_of_override(world)
    if override is None or override.diverged or not refused or wanted is None:
        return world
    world = replace(world, record=world.record.with_divergence())
    branch, offered = world.observed.branch, "it is offered on the promotion branch"
    offered = f"{offered} once that is deleted: main has it" if branch is not None and branch.is_merged else offered
    instead = world.observed.not_offered(wanted.version) or offered
    reason = f"main refuses the commit ({refused}); {instead}"
    return world.with_ledger_entry(Event.DIVERGED, to=wanted.version, by=override.by, reason=reason, asked=False)


@dataclass(frozen=True, slots=True)
class GroupAborting:
    """What an abort would do now: the versions that it stops, and where requests go. Empty: they stay."""

    stops: tuple[str, ...]
    goes_to: str = ""
    live: str = ""
    """The version that serves now."""

    def __bool__(self) -> bool:
        return bool(self.stops)


def _anything(_: str) -> bool:
    return True


def aborting(record: GroupRecord, asked_for: str, may_go_back: Callable[[str], bool] = _anything) -> GroupAborting:
    """Return what `abort` would stop: what is on its way, and what serves while it is judged still. A version that has
    proven itself serves on, and a way back, or a promotion that is taken back, is what an abort asks for.

    ``asked_for``: the version that group.yaml names. ``may_go_back`` says whether requests may go to one that served:
    who does not know the folders cannot tell.
    """
    state, moving = record.state, record.transition
    live = state.only(VersionStage.ACTIVE)
    if record.override is not None or (moving is not None and moving.kind is TransitionKind.ROLLBACK):
        return GroupAborting((), live=live)
    held = {version_in(each.digest) for each in record.holds}
    is_coming = state.stage(asked_for) is VersionStage.CANDIDATE and live and asked_for not in held
    stops, back = (asked_for,) if is_coming else (), _fallback(record)
    if back and back != asked_for and may_go_back(back):
        return GroupAborting((*stops, live), back, live)
    has_moved = moving is not None and (moving.moved or moving.step is TransitionStep.SWITCH)
    return GroupAborting(stops, live if stops and has_moved else "", live)


def _fallback(record: GroupRecord) -> str:
    """Return the version before, while the one that serves is judged still."""
    run = record.analyses.run(AnalysisStage.POST)
    is_judged = run is not None and (run.running or run.paused)
    return run.fallback if is_judged and run is not None else ""


def abort(world: GroupWorld, request: Request) -> GroupWorld:
    """Hold the versions that the request names, and leave a named one that serves. Who names none means what is on its
    way now, and what serves unproven.

    Not where the version came to serve since and has proven itself: its writer never saw it serve.
    """
    planned, record = aborting(world.record, world.spec.active, partial(may_go_back, world)), world.record
    about, reason = request.about or planned.stops, request.reason or "aborted"
    for version in about:
        if version in planned.stops and version != planned.live:
            world = hold_version(world, version, Cause.ABORTED, reason, request.by)
    if planned.live in about and record.override is None:
        before = record.state.only(VersionStage.LEGACY) if request.live == planned.live else ""
        back = _fallback(record) or before
        back = back if may_go_back(world, back) else ""
        world = leave_version(world, planned.live, back, Cause.ABORTED, reason, request.by)
    return world


# --- retry ---


def answer_retries(world: GroupWorld) -> GroupWorld:
    """Follow the retries that main asked for since, oldest first."""
    for asked, said in world.desired.journal.of(Retried):
        world = retry_version(world, asked, said.retry)
    return world


def retry_version(world: GroupWorld, asked: Source, retry: Retry) -> GroupWorld:
    """Follow a retry in group.yaml: lift the hold on what it names, and have all checks of that begin anew.

    While the group is suspended, nothing is tried again, and a way back is finished first: what is tried again goes
    through every gate. A retry whose author did not know of the hold is no answer to it; one of which nobody can tell
    who asked for it is read again.
    """
    operator, moving = world.record.operator, world.record.transition
    is_on_way_back = world.record.override is not None and moving is not None
    if retry.number <= operator.retry or world.suspended or is_on_way_back or not asked.commit:
        return world
    before = world.with_record(operator=replace(operator, retry=retry.number))
    hold = before.record.held(retry.digest)
    if hold is not None and 0 < retry.after < hold.sequence:
        return before
    world = _without_checks(try_again(before, retry.digest, retry.by), retry.digest)
    if world.record == before.record:
        return before
    return world.with_ledger_entry(Event.RETRIED, to=version_in(retry.digest), by=retry.by, source=asked)


def _without_checks(world: GroupWorld, digest: str) -> GroupWorld:
    """Return the group without what was found of a version before its promotion and what hooks said of it, and with a
    new analysis of what serves where the last one could not tell, or found it bad.
    """
    state, analyses = world.record.hook_state, world.record.analyses
    serves = world.record.state.stage(version_in(digest)) is VersionStage.ACTIVE
    left = tuple(run for run in state.runs if run.digest != digest)
    for run in analyses.runs:
        if run.digest == digest and run.stage is AnalysisStage.PRE:
            analyses = analyses.without_run(run, world.now)
        elif run.digest == digest and (run.paused or (run.bad and serves)):
            analyses = analyses.with_run(restarted(run), world.now)
    return world.with_record(hook_state=replace(state, runs=left), analyses=analyses)


# --- what somebody asks for by a commit ---


def demand_promotable(key: GroupKey, desired: DesiredGroup, record: GroupRecord, version: str) -> None:
    """Check that a version is a candidate, or will be one once the agent has looked at its folder.

    Raises `PromotionRejected` with what would be right.
    """
    state, stage = record.state, record.state.stage(version)
    active = state.only(VersionStage.ACTIVE)
    if stage is VersionStage.ACTIVE:
        back = f"; to take back what main asks for: gitops-bg rollback {key} --to {version}"
        asks = desired.spec is not None and desired.spec.active != version
        raise PromotionRejected(Rejection.NOT_A_CANDIDATE, f"{version} is active already{back if asks else ''}")
    if stage is VersionStage.LEGACY:
        message = f"{version} is legacy: to go back to it, gitops-bg rollback {key} --to {version}"
        raise PromotionRejected(Rejection.NOT_A_CANDIDATE, message)
    if stage is VersionStage.ARCHIVED:
        raise PromotionRejected(
            Rejection.NOT_A_CANDIDATE, f"{version} is archived: {_next_name(key, desired, version)}"
        )
    if stage is None and active:
        _demand_new(key, desired, record, version, active)


def _demand_new(key: GroupKey, desired: DesiredGroup, record: GroupRecord, version: str, active: str) -> None:
    """Check that the folder of a version that the group does not have will make it a candidate."""
    folder = desired.versions.get(version)
    content = folder.content if folder is not None else ""
    if any((each.name, each.content) == (version, content) for each in record.deleted):
        message = f"{version} was deleted when another version became active: change a file in its folder first"
        raise PromotionRejected(Rejection.NO_SUCH_VERSION, message)
    if version_number(version) < version_number(active):
        message = f"{version} is older than {active}, which is active: {_next_name(key, desired, version)}"
        raise PromotionRejected(Rejection.PASSED, message)


def demand_way_back(key: GroupKey, desired: DesiredGroup, record: GroupRecord, version: str) -> None:
    """Check that a rollback leads to a version: to the one before, or, where another one is asked for or on its way, to
    the one that serves. Raises `PromotionRejected` with what would be right.
    """
    named = desired.spec.active if desired.spec is not None else ""
    stage, back = record.state.stage(version), record.back_from(named)
    is_so_already = version == named and stage is VersionStage.ACTIVE
    if not record.state.versions or is_so_already or version == back or stage is VersionStage.LEGACY:
        return
    right = f"a rollback leads to {back} now: gitops-bg rollback {key} --to {back}"
    if not back:
        right = "there is no version to go back to, as two rollbacks in a row do not exist"
    if stage is VersionStage.CANDIDATE:
        right += f"; to have {version}: gitops-bg promote {key} --to {version}"
    elif stage is not VersionStage.ACTIVE:
        right += f"; {_next_name(key, desired, version)}"
    what = f"is {stage.lower()}" if stage is not None else "is no version of the group any more"
    raise PromotionRejected(Rejection.NO_LEGACY, f"{version} {what}: {right}")


def _next_name(key: GroupKey, desired: DesiredGroup, version: str) -> str:
    free = f"v{max(map(version_number, desired.versions), default=0) + 1}"
    return f"to have it again, gitops-bg group new {key} {free} --from {version}"

"""What a group does where operators ask for it, as an app: `abort` in the cluster, `retry` through Git."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from gitops_bg.core.groups.model import TransitionStep, VersionStage, version_in
from gitops_bg.core.groups.operators.holds import hold_version, leave_version, may_go_back, try_again
from gitops_bg.core.groups.record import GroupRecord, TransitionKind
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.analysis.runs import anew
from gitops_bg.core.model.git.journal import Retried
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import Source


@dataclass(frozen=True, slots=True)
class Aborting:
    """What an abort would do now: the versions that it stops, and where requests go. Empty: they stay."""

    stops: tuple[str, ...]
    goes_to: str = ""
    live: str = ""
    """The version that serves now."""

    def __bool__(self) -> bool:
        return bool(self.stops)


def _anything(_: str) -> bool:
    return True


def aborting(record: GroupRecord, asked_for: str, may_go_back: Callable[[str], bool] = _anything) -> Aborting:
    """What `abort` would stop: what is on its way, and what serves while it is judged still. A version that has proven
    itself serves on, and a way back, or a promotion that is taken back, is what an abort asks for.

    ``asked_for``: the version that group.yaml names. ``may_go_back`` says whether requests may go to one that served:
    who does not know the folders cannot tell.
    """
    state, moving = record.state, record.transition
    live = state.only(VersionStage.ACTIVE)
    if record.override is not None or (moving is not None and moving.kind is TransitionKind.ROLLBACK):
        return Aborting((), live=live)
    held = {version_in(each.digest) for each in record.holds}
    is_coming = state.stage(asked_for) is VersionStage.CANDIDATE and live and asked_for not in held
    stops, back = (asked_for,) if is_coming else (), _fallback(record)
    if back and back != asked_for and may_go_back(back):
        return Aborting((*stops, live), back, live)
    has_moved = moving is not None and (moving.moved or moving.step is TransitionStep.SWITCH)
    return Aborting(stops, live if stops and has_moved else "", live)


def _fallback(record: GroupRecord) -> str:
    """The version before, while the one that serves is judged still."""
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
        world = answer_retry(world, asked, said.retry)
    return world


def answer_retry(world: GroupWorld, asked: Source, retry: Retry) -> GroupWorld:
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
    return world.noting(Event.RETRIED, to=version_in(retry.digest), by=retry.by, source=asked)


def _without_checks(world: GroupWorld, digest: str) -> GroupWorld:
    """The group without what was found of a version before its promotion and what hooks said of it, and with a new
    analysis of what serves where the last one could not tell, or found it bad.
    """
    state, analyses = world.record.hook_state, world.record.analyses
    serves = world.record.state.stage(version_in(digest)) is VersionStage.ACTIVE
    left = tuple(run for run in state.runs if run.digest != digest)
    for run in analyses.runs:
        if run.digest == digest and run.stage is AnalysisStage.PRE:
            analyses = analyses.without_run(run, world.now)
        elif run.digest == digest and (run.paused or (run.bad and serves)):
            analyses = analyses.with_run(anew(run), world.now)
    return world.with_record(hook_state=replace(state, runs=left), analyses=analyses)

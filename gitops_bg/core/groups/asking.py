"""The steps that ask the hooks of a group and measure it (`core.delivery`), and what follows from what they find.

Bad before the promotion: the version is on hold. After it: the group goes back, as by a rollback, and Git is told.
Inconclusive: nothing moves until a person decides.
"""

from dataclasses import replace

from gitops_bg.core.delivery import analyses, hooks
from gitops_bg.core.delivery.hook_text import answer_text
from gitops_bg.core.delivery.hooks import Answered, says_no
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.operators.holds import go_back, put_hold
from gitops_bg.core.groups.record import TransitionKind
from gitops_bg.core.groups.subject import POST, GroupSubject, digest_of, round_of, version_of
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis.history import MOST_RUNS, Analyses
from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.analysis.runs import AnalysisRun
from gitops_bg.core.model.hooks import HookCall, HookRun, HookType
from gitops_bg.core.model.record import Cause, Event

# --- hooks ---


def take_hook_answers(world: GroupWorld) -> GroupWorld:
    """Read the answers of hooks, and act on them; a gate that somebody has just closed lets nothing through."""
    world = _ask_people(_without_stale_hooks(world))
    answered = hooks.answered_by(round_of(world), world.observed.calls)
    world = _with_hooks(world, hooks.after(world.record.hook_state.runs, answered))
    for each in answered:
        world = _told(world, each)
    for hook, _, run in answered:
        if says_no(hook, run):
            by = hook.title if hook.type is HookType.ROLLBACK else ""
            world = _refuse(world, run, answer_text(hook, run), by)
    return world


def begin_hooks(world: GroupWorld) -> GroupWorld:
    """Begin to ask the hooks that are due of the version that serves, and of the one that is to.

    One after the other: each has a try of its own, with its own number.
    """
    world = _without_stale_hooks(world)
    asked = (world.record.state.only(VersionStage.ACTIVE), world.wanted) if world.spec.hooks else ()
    for version in dict.fromkeys(asked):
        world = _with_hooks(world, hooks.begun(round_of(world), digest_of(world, version)))
    return _ask_people(world)


def _ask_people(world: GroupWorld) -> GroupWorld:
    """Answer for manual gates according to what somebody did to them; each that waits for people is told once."""
    answered = hooks.opened_by_hand(round_of(world))
    world = _with_hooks(world, hooks.after(world.record.hook_state.runs, answered))
    for each in filter(hooks.is_told_closed, answered):
        said = hooks.answered(round_of(world), each.hook, each.after)
        world = world.noting(Event.HOOK_REFUSED, to=version_of(each.after), reason=said, asked=False)
    return world


def calls_due(world: GroupWorld) -> tuple[HookCall, ...]:
    """The hooks to call now, each with the version, and with the one that serves, or served before."""
    asked = round_of(world)
    return tuple(
        hooks.call_of(asked, hook, run, "Promoting", ("version", version_of(run)), ("formerVersion", former))
        for hook, run in hooks.due(asked)
        for former in [_former(world, run)]
    )


def _former(world: GroupWorld, run: HookRun) -> str:
    serves = GroupSubject(world).is_judged_live(run.digest)
    return world.fallback if serves else world.record.state.only(VersionStage.ACTIVE)


def _without_stale_hooks(world: GroupWorld) -> GroupWorld:
    return _with_hooks(world, hooks.kept(round_of(world))) if world.record.hook_state.runs else world


def _with_hooks(world: GroupWorld, runs: tuple[HookRun, ...]) -> GroupWorld:
    state = world.record.hook_state
    return world if runs == state.runs else _numbered(world.with_record(hook_state=replace(state, runs=runs)), runs)


def _told(world: GroupWorld, each: Answered) -> GroupWorld:
    """Tell of the first refusal, of what ends a promotion or leads back, and of a deadline that has passed."""
    hook, before, after = each
    version, said = version_of(after), answer_text(hook, after)
    ends = says_no(hook, after) and not says_no(hook, before)
    is_told = not hook.mute_alert or GroupSubject(world).is_judged_live(after.digest)
    if hooks.is_told_refusal(each) or (ends and is_told):
        world = world.noting(Event.HOOK_REFUSED, to=version, reason=said, asked=False)
    if after.expired and not before.expired:
        reason = f"{said}; no answer within {hook.deadline} s"
        world = world.noting(Event.HOOK_EXPIRED, to=version, reason=reason, asked=False)
    return world


# --- analyses ---


def take_measurements(world: GroupWorld) -> GroupWorld:
    """Read measurements, and act on the verdicts; a run that nobody needs any more has none."""
    world = _without_stale_runs(world)
    for run in analyses.measured(round_of(world), world.observed.measurements):
        world = _conclude(_with_run(world, run), run)
    return world


def begin_runs(world: GroupWorld) -> GroupWorld:
    """Begin the runs that are due, now that it is known which version is on its way."""
    world = _without_stale_runs(world)
    for run in analyses.begun(round_of(world), digest_of(world, world.wanted)):
        world = _with_run(world, run)
    return world


def await_verdict(world: GroupWorld, version: str, source: str, kind: TransitionKind) -> GroupWorld:
    """Await the verdict on a promotion once traffic has moved. A rollback is not analysed (I6).

    The last verdict ends: of the same version it would be about a former try, which has no number once it is over.
    """
    if kind is not TransitionKind.PROMOTION:
        return world
    last = world.record.analyses.run(POST)
    if last is not None:
        world = _with_analyses(world, world.record.analyses.without_run(last, world.now))
    run = analyses.awaited(round_of(world), digest_of(world, version), source)
    return _with_run(world, run) if run is not None else world


def _without_stale_runs(world: GroupWorld) -> GroupWorld:
    return _with_analyses(world, analyses.kept(round_of(world)))


def _with_run(world: GroupWorld, run: AnalysisRun) -> GroupWorld:
    return _with_analyses(world, world.record.analyses.with_run(run, world.now))


def _with_analyses(world: GroupWorld, runs: Analyses) -> GroupWorld:
    if runs == world.record.analyses:
        return world
    return _numbered(world.with_record(analyses=runs.within(MOST_RUNS, MOST_RUNS)), runs.runs)


def _conclude(world: GroupWorld, run: AnalysisRun) -> GroupWorld:
    if run.running:
        return world
    reason = analyses.found(run)
    event = Event.ANALYSED if run.phase is AnalysisPhase.SUCCESSFUL else Event.PAUSED if run.paused else Event.FAILED
    world = world.noting(event, to=version_of(run), reason=reason, asked=False)
    if not run.bad:
        return world
    if run.stage is POST:
        return go_back(world, version_of(run), run.fallback, Cause.ANALYSIS_FAILED, reason)
    return put_hold(world, version_of(run), Cause.ANALYSIS_FAILED, reason)


# --- what both do ---


def _numbered(world: GroupWorld, runs: tuple[AnalysisRun, ...] | tuple[HookRun, ...]) -> GroupWorld:
    """The first run ever gives all calls and measurements what tells them from those of a lost record."""
    rollout = max((world.record.rollout, *(run.rollout for run in runs)))
    return world.with_record(rollout=rollout, epoch=world.record.epoch or world.observed.uid[:8] or "0")


def _refuse(world: GroupWorld, run: HookRun, reason: str, by: str) -> GroupWorld:
    """Hold the version on its way that a hook says no to, or go back from the one that serves."""
    group = GroupSubject(world)
    if group.goes_forward(run.digest):
        return put_hold(world, version_of(run), Cause.HOOK_REFUSED, reason)
    if group.is_judged_live(run.digest):
        return go_back(world, version_of(run), world.fallback, Cause.HOOK_REFUSED, reason, by)
    return world

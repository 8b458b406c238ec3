"""What the hooks of a group say of the version that it is asked to promote, or has promoted. World in, answer out.

As for an app (`core.checks.hooks.queries`); nothing is asked about the first version, nor about a rollback (I6).
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from gitops_bg.core.checks.hooks.text import answer_text, what_next
from gitops_bg.core.groups.analysis.answers import digest_of, run_after, run_before, version_of
from gitops_bg.core.groups.model import TransitionStep, VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.suspension import is_suspended
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import (
    Answer,
    Hook,
    HookCall,
    HookRun,
    HookType,
    due_at,
    expires_at,
    failure_limit_exceeded,
    has_accepted,
    id_of,
    key_of,
    satisfied,
)

FORWARD = (HookType.PRE_ROLLOUT, HookType.ROLLOUT, HookType.CONFIRM_PROMOTION)
"""The types that lead forward, in the order in which they are asked."""

PHASES = {HookType.ROLLBACK: "Promoting"}
"""Flagger's name of the phase in which a type is called; any other while the version makes progress."""


def hooks_of(world: GroupWorld, *types: HookType) -> Iterator[Hook]:
    """The group's hooks of these types, in the order of the file."""
    return (hook for hook in world.spec.hooks if hook.type in types)


def run_of(world: GroupWorld, hook: Hook, version: str) -> HookRun | None:
    """What a hook has answered about a version with what its folder says now."""
    wanted = (hook.name, hook.type, digest_of(world, version))
    return next((run for run in world.record.hooks if (run.hook, run.type, run.digest) == wanted), None)


def have_passed(world: GroupWorld, version: str, *types: HookType) -> bool:
    """Whether every hook of these types has accepted a version."""
    runs = ((hook, run_of(world, hook, version)) for hook in hooks_of(world, *types))
    return all(run is not None and has_accepted(run, hook) for hook, run in runs)


def goes_forward(world: GroupWorld, version: str) -> bool:
    """Whether hooks are asked about a version before requests move to it."""
    moving, state = world.record.transition, world.record.state
    return (
        bool(state.only(VersionStage.ACTIVE))
        and state.stage(version) is VersionStage.CANDIDATE
        and version == world.wanted
        and (moving is None or (moving.target == version and moving.step is TransitionStep.PREPARE))
    )


def is_judged_live(world: GroupWorld, version: str) -> bool:
    """Whether it serves, its analysis after the promotion is not over, and the group does not go back from it anyway.

    What Git asks for meanwhile waits, so it still may be left. Who promotes another version while it is paused has
    seen it.
    """
    run = run_after(world)
    if run is None or version_of(run) != version:
        return False
    return (run.running and world.wanted != run.fallback) or (run.paused and world.wanted == version)


def asked_about(world: GroupWorld) -> Iterator[tuple[Hook, HookRun]]:
    """The runs that continue: a suspension stops those that lead forward, never those that may lead back."""
    known = {(hook.name, hook.type): hook for hook in world.spec.hooks}
    for run in world.record.hooks:
        hook, version = known.get((run.hook, run.type)), version_of(run)
        ahead = goes_forward(world, version)
        if run.type is HookType.ROLLBACK:
            continues = ahead or is_judged_live(world, version)
        else:
            continues = ahead and not is_suspended(world)
        if hook is not None and continues:
            yield hook, run


def says_no(hook: Hook, run: HookRun) -> bool:
    """Whether the answers end the promotion: too many refusals, or a rollback hook that accepts."""
    return failure_limit_exceeded(run, hook) or (hook.type is HookType.ROLLBACK and run.answer is Answer.ACCEPTED)


def refusal(world: GroupWorld, version: str) -> str:
    """Why a version must not go on, by a verdict that waiting does not change; empty where none says so."""
    analysed = run_before(world, version)
    if analysed is not None and analysed.bad:
        return f"{analysed.stage.called} {analysed.phase.lower()}"
    for hook in hooks_of(world, *FORWARD, HookType.ROLLBACK):
        run = run_of(world, hook, version)
        if run is not None and says_no(hook, run):
            return answer_text(hook, run)
    return ""


def refused_in(record: GroupRecord, hooks: Iterable[Hook]) -> frozenset[str]:
    """The contents of versions that a bad analysis before the promotion, or one of these hooks, keeps from it."""
    asked = {(hook.name, hook.type): hook for hook in hooks if hook.type in (*FORWARD, HookType.ROLLBACK)}
    analysed = record.analyses.run(AnalysisStage.PRE)
    by_analysis = {analysed.digest} if analysed is not None and analysed.bad else set[str]()
    answers = ((asked.get((run.hook, run.type)), run) for run in record.hooks)
    by_hooks = {run.digest for hook, run in answers if hook is not None and says_no(hook, run)}
    return frozenset(by_analysis | by_hooks)


def hook_gates(world: GroupWorld, version: str) -> tuple[GateResult, ...]:
    """One gate for each hook that leads forward, and for each rollback hook that has called for one."""
    found = (_gate(world, version, hook) for hook in hooks_of(world, *FORWARD, HookType.ROLLBACK))
    return tuple(gate for gate in found if gate is not None)


def _gate(world: GroupWorld, version: str, hook: Hook) -> GateResult | None:
    run = run_of(world, hook, version)
    if hook.type is HookType.ROLLBACK and (run is None or not says_no(hook, run)):
        return None
    if run is None:
        return GateResult(GateKind.HOOK, False, f"{hook.title}: not asked yet")
    active = world.record.state.only(VersionStage.ACTIVE)
    anew = f"change a file in {version}/, or set active: {active} and back"
    over = says_no(hook, run)
    is_open = satisfied(run, hook, world.now) and not over
    comes = what_next(hook, run, due_at(run, hook), f"to ask anew, {anew}", world.now, world.record.resumed_at)
    return GateResult(
        GateKind.HOOK,
        is_open,
        answer_text(hook, run) + ("" if over else comes),
        remedy=anew if over or run.expired else "",
    )


def calls_due(world: GroupWorld) -> tuple[HookCall, ...]:
    """The hooks to ask now."""
    return tuple(
        _call(world, hook, run)
        for hook, run in asked_about(world)
        if not says_no(hook, run) and (moment := _next_call(world, hook, run)) is not None and moment <= world.now
    )


def _call(world: GroupWorld, hook: Hook, run: HookRun) -> HookCall:
    epoch, version = world.record.epoch, version_of(run)
    former = world.fallback if is_judged_live(world, version) else world.record.state.only(VersionStage.ACTIVE)
    metadata = (("version", version), ("formerVersion", former))
    phase = PHASES.get(run.type, "Progressing")
    return HookCall(id_of(run, epoch), key_of(run, epoch), hook, phase, run.digest, metadata)


def _next_call(world: GroupWorld, hook: Hook, run: HookRun) -> datetime | None:
    """When a hook is called next; a rollout hook is called as long as the analysis beside it runs."""
    beside = run_before(world, version_of(run))
    analysed = beside is not None and beside.running
    return due_at(run, hook, goes_on=hook.type is HookType.ROLLOUT and analysed)


def moments(world: GroupWorld) -> Iterator[datetime]:
    """When a call becomes due, or the deadline of a hook ends."""
    for hook, run in asked_about(world):
        if says_no(hook, run):
            continue
        ends = None if run.expired else expires_at(run, hook, world.record.resumed_at)
        every = (_next_call(world, hook, run), ends)
        yield from (each for each in every if each is not None)

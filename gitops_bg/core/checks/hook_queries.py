"""What the hooks of an app say about a version, for sizes, gates and analysis. Decides nothing."""

from collections.abc import Iterator
from datetime import datetime

from gitops_bg.core.model.hooks import Answer, Hook, HookRun, HookType, due_at, expires_at, satisfied
from gitops_bg.core.model.metrics import AnalysisStage
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.world import World

LONGEST_REASON = 300
"""The most characters of a body in one sentence; the condition ``HooksPassed`` and the status have all of it."""


def hooks_of(world: World, *types: HookType) -> Iterator[Hook]:
    """The app's hooks of these types, in the order of the file."""
    return (hook for hook in world.spec.strategy.hooks if hook.type in types)


def run_of(world: World, hook: Hook, version: Version, *, final: bool = False) -> HookRun | None:
    """What a hook has answered for the present rollout of a version so far."""
    wanted = (hook.name, hook.type, version.digest, version.rollout, final)
    runs = (
        run
        for run in world.record.hook_state.runs
        if (run.hook, run.type, run.digest, run.rollout, run.final) == wanted
    )
    return next(runs, None)


def has_passed(world: World, version: Version, *types: HookType, final: bool = False) -> bool:
    """Whether every hook of these types has accepted a version."""
    hooks = [hook for hook in hooks_of(world, *types) if not is_skipped(world, version, hook.type)]
    runs = ((hook, run_of(world, hook, version, final=final)) for hook in hooks)
    return all(run is not None and satisfied(run, hook) for hook, run in runs)


def is_skipped(world: World, version: Version, kind: HookType) -> bool:
    """Whether hooks of this type are skipped: `promote --full` skips checks, but not the gates that people open."""
    return kind.counts_refusals and world.record.operator.promote_full == version.digest


def goes_forward(world: World, version: Version) -> bool:
    """Whether hooks are asked about a version: it is on its way, and is neither the first nor a rollback (DESIGN §4.5,
    §4.6).
    """
    if (
        not world.record.routing.traffic
        or version.digest == world.record.routing.traffic
        or world.record.held(version.digest)
    ):
        return False
    if version.digest == world.desired_digest:
        return world.switch_kind is SwitchKind.PROMOTION
    is_target = version.digest == world.target_digest or not world.target
    return version.stage is Stage.CANDIDATE and not version.retiring and is_target


def awaits_confirmation(world: World, version: Version) -> bool:
    """Whether a version must not be scaled up yet, because a confirm-rollout hook has not accepted it."""
    if not any(hooks_of(world, HookType.CONFIRM_ROLLOUT)) or not goes_forward(world, version):
        return False
    return not has_passed(world, version, HookType.CONFIRM_ROLLOUT)


def is_judged_live(world: World, version: Version) -> bool:
    """Whether it serves while its analysis after promotion is not over: rollback hooks are still asked."""
    run = world.record.run(AnalysisStage.POST)
    judged = run is not None and (run.running or run.paused) and run.digest == version.digest
    return judged and version.digest == world.record.routing.traffic == world.desired_digest


def next_call(world: World, run: HookRun, hook: Hook) -> datetime | None:
    """When a hook is called next; a rollout hook is called as long as the analysis beside it runs."""
    beside = world.record.run(AnalysisStage.PRE)
    analysed = beside is not None and beside.running and beside.rollout == run.rollout
    return due_at(run, hook, goes_on=hook.type is HookType.ROLLOUT and analysed)


def describe(world: World, hook: Hook, run: HookRun | None) -> str:
    """The state of a hook, as one sentence."""
    title = hook.title
    if run is None:
        return f"{title}: not asked yet"
    if hook.manual:
        return _said_by_hand(world, hook)
    return f"{answered(world, hook, run)}{_what_next(world, hook, run)}"


def answered(world: World, hook: Hook, run: HookRun) -> str:
    """What a hook has answered, without what comes next, for the record."""
    if hook.manual:
        return _said_by_hand(world, hook)
    return f"{hook.title}{_count(hook, run)}: {_answer(run)}"


def _said_by_hand(world: World, hook: Hook) -> str:
    opened = world.record.gate(hook.name)
    if opened is None:
        return f"manual gate {hook.name} is closed; `gitops-bg gate open {world.spec.app} {hook.name}` opens it"
    because = f": {opened.reason}" if opened.reason else ""
    return f"manual gate {hook.name} was opened by {opened.by}{because}"


def _count(hook: Hook, run: HookRun) -> str:
    if not hook.type.counts_refusals:
        return ""
    wanted = hook.iterations if hook.type is HookType.ROLLOUT else 1
    return f" ✔{run.accepted} ✖{run.refused} of {wanted}"


def _answer(run: HookRun) -> str:
    if run.answer is None:
        return "no answer yet"
    status = f" ({run.status})" if run.status else ""
    text = " ".join(run.text.split())
    cut = text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}…"
    return f"{run.answer}{status}" + (f": {cut}" if cut else "")


def _what_next(world: World, hook: Hook, run: HookRun) -> str:
    ends, moment = expires_at(run, hook), next_call(world, run, hook)
    if run.expired:
        what = "did not open" if hook.type.confirms else "gave no answer"
        return f"; it {what} within {hook.deadline} s; `gitops-bg retry {world.spec.app}` asks anew"
    again = f"; asked again at {_clock(moment)}" if moment and run.last_at else ""
    return again + (f", until {_clock(ends)}" if ends and run.answer is not Answer.ACCEPTED else "")


def _clock(moment: datetime) -> str:
    return moment.strftime("%H:%M:%SZ")

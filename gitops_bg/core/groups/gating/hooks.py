"""What the hooks of a group say of the version that it is to promote: gates, and what keeps it from its promotion."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.hook_text import answer_text
from gitops_bg.core.delivery.hooks import CONFIRM_PROMOTION, PRE_ROLLOUT, ROLLBACK, ROLLOUT, says_no
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.subject import PRE, asked_anew, digest_of, round_of, run_before
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.hooks import Hook, HookRun

STOPPING = (PRE_ROLLOUT, ROLLOUT, CONFIRM_PROMOTION, ROLLBACK)
"""The types that may keep a version from its promotion."""


def refusal(world: GroupWorld, version: str) -> str:
    """Why a version must not go on, by a verdict that waiting does not change; empty where none says so."""
    analysed = run_before(world, version)
    if analysed is not None and analysed.bad:
        return f"{analysed.stage.called} {analysed.phase.lower()}"
    return next((answer_text(hook, run) for hook, run in _asked(world, version) if run and says_no(hook, run)), "")


def refused_in(record: GroupRecord, known: Iterable[Hook]) -> frozenset[str]:
    """The contents of versions that a bad analysis before the promotion, or one of these hooks, keeps from it."""
    asked = {(hook.name, hook.type): hook for hook in known if hook.type in STOPPING}
    analysed = record.analyses.run(PRE)
    by_analysis = {analysed.digest} if analysed is not None and analysed.bad else set[str]()
    answers = ((asked.get((run.hook, run.type)), run) for run in record.hook_state.runs)
    by_hooks = {run.digest for hook, run in answers if hook is not None and says_no(hook, run)}
    return frozenset(by_analysis | by_hooks)


def hook_gates(world: GroupWorld, version: str) -> tuple[GateResult, ...]:
    """One gate for each hook that leads forward, and for each rollback hook that has called for one."""
    asked, gates = round_of(world), []
    for hook, run in _asked(world, version):
        ends = run is not None and says_no(hook, run)
        if ends or hook.type is not ROLLBACK:
            is_over = ends or (run is not None and run.expired)
            remedy = asked_anew(world, version) if is_over else ""
            gates.append(replace(hooks.hook_gate(asked, hook, run), remedy=remedy))
    return tuple(gates)


def _asked(world: GroupWorld, version: str) -> Iterator[tuple[Hook, HookRun | None]]:
    asked, digest = round_of(world), digest_of(world, version)
    return ((hook, hooks.run_of(asked, hook, digest)) for hook in hooks.hooks_of(asked, *STOPPING))

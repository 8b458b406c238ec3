"""What the hooks of a group are asked (`core.delivery.hooks`), and what they say of the version that it is to promote,
or has promoted. Nothing is asked about the first version.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.hook_text import answer_text
from gitops_bg.core.delivery.hooks import CONFIRM_PROMOTION, PRE_ROLLOUT, ROLLBACK, ROLLOUT, says_no
from gitops_bg.core.delivery.subject import HookRound
from gitops_bg.core.groups.analysis.answers import (
    asked_anew,
    digest_of,
    pre_promotion,
    run_after,
    run_before,
    version_in,
    version_of,
)
from gitops_bg.core.groups.gating.members import members_healthy
from gitops_bg.core.groups.gating.suspension import is_suspended
from gitops_bg.core.groups.model import TransitionStep, VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.hooks import Hook, HookCall, HookRun, HookType
from gitops_bg.core.questions import answered_once

STOPPING = (PRE_ROLLOUT, ROLLOUT, CONFIRM_PROMOTION, ROLLBACK)
"""The types that may keep a version from its promotion."""


@dataclass(frozen=True, slots=True)
class GroupSubject:
    """A group as its hooks are asked about it (`core.delivery.subject.AskingSubject`). Its versions have names of their
    own, so nobody asks one and gets an answer of another; and main names a version before anybody is asked about it.
    """

    world: GroupWorld

    def rollout(self, digest: str) -> int:
        """The number of the try to promote a version."""
        return rollout_of(self.world, version_in(digest))

    def goes_forward(self, digest: str) -> bool:
        """Whether a version is to be promoted, and requests have not begun to move to it."""
        moving, state, version = self.world.record.transition, self.world.record.state, version_in(digest)
        return (
            bool(state.only(VersionStage.ACTIVE))
            and state.stage(version) is VersionStage.CANDIDATE
            and version == self.world.wanted
            and (moving is None or (moving.target == version and moving.step is TransitionStep.PREPARE))
        )

    def is_judged_live(self, digest: str) -> bool:
        """Whether it serves, its analysis after the promotion is not over, and the group does not go back anyway."""
        run, version = run_after(self.world), version_in(digest)
        if run is None or version_of(run) != version:
            return False
        return (run.running and self.world.wanted != run.fallback) or (run.paused and self.world.wanted == version)

    def is_shown(self, _: str) -> bool:
        """A version answers under its own name."""
        return True

    def is_in_preview(self, _: str) -> bool:
        """A version answers under its own name."""
        return True

    def is_ready(self, digest: str) -> bool:
        """Whether every service that a version brings is healthy."""
        return members_healthy(self.world, version_in(digest)).open

    def has_passed_analysis(self, digest: str) -> bool:
        """Whether the gate of the analysis before promotion is open, or there is none."""
        analysed = pre_promotion(self.world, version_in(digest))
        return analysed is None or analysed.open

    def waits_only_for_hooks(self) -> bool:
        """Nothing is confirmed a second time: main named the version before the first."""
        return False

    def counts(self, run: HookRun) -> bool:
        """Whether a run is about the version that group.yaml names, with its present content; or about what serves."""
        version, failed = version_of(run), self.world.record.failed
        may_lead_back = run.type is ROLLBACK and self.is_judged_live(run.digest)
        is_left = failed is not None and failed.moved and failed.target == version
        if run.type is ROLLBACK and is_left:
            return False  # If it stays after all, its hooks are asked anew.
        is_asked_for = self.world.spec.active == version or may_lead_back
        return is_asked_for and run.digest == digest_of(self.world, version)

    def anew(self, digest: str) -> str:
        """Another content is asked about anew, and the same one once somebody asked for another version."""
        return f"to ask anew, {asked_anew(self.world, version_in(digest))}"


@answered_once
def round_of(world: GroupWorld) -> HookRound[GroupSubject]:
    """The hooks of a group, as they are asked."""
    record, measured = world.record, run_before(world, world.wanted)
    return HookRound(
        of=GroupSubject(world),
        key=str(world.key),
        now=world.now,
        hooks=world.spec.hooks,
        runs=record.hooks,
        epoch=record.epoch,
        frozen=is_suspended(world),
        resumed_at=record.resumed_at,
        measured=measured if measured is not None and measured.running else None,
    )


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


def have_passed(world: GroupWorld, version: str, *types: HookType) -> bool:
    """Whether every hook of these types has accepted a version."""
    return not world.spec.hooks or hooks.has_passed(round_of(world), digest_of(world, version), *types)


def rollout_of(world: GroupWorld, version: str) -> int:
    """The number of a try to promote a version: that of its measurements and hooks so far, else the next."""
    before, digest = run_before(world, version), digest_of(world, version)
    asked = (run.rollout for run in world.record.hooks if run.digest == digest)
    return before.rollout if before is not None else next(asked, world.record.rollout + 1)


def refusal(world: GroupWorld, version: str) -> str:
    """Why a version must not go on, by a verdict that waiting does not change; empty where none says so."""
    analysed = run_before(world, version)
    if analysed is not None and analysed.bad:
        return f"{analysed.stage.called} {analysed.phase.lower()}"
    return next((answer_text(hook, run) for hook, run in _asked(world, version) if run and says_no(hook, run)), "")


def refused_in(record: GroupRecord, known: Iterable[Hook]) -> frozenset[str]:
    """The contents of versions that a bad analysis before the promotion, or one of these hooks, keeps from it."""
    asked = {(hook.name, hook.type): hook for hook in known if hook.type in STOPPING}
    analysed = record.analyses.run(AnalysisStage.PRE)
    by_analysis = {analysed.digest} if analysed is not None and analysed.bad else set[str]()
    answers = ((asked.get((run.hook, run.type)), run) for run in record.hooks)
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

"""What the steps of `core.delivery` do to an app: hold and go back, what its hooks and analyses ask for."""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_bg.core.checks.gates import waits_only_for_hooks
from gitops_bg.core.checks.subject import AppSubject, round_as
from gitops_bg.core.delivery.subject import Round, steps_for
from gitops_bg.core.model.analysis.history import Analyses
from gitops_bg.core.model.analysis.runs import AnalysisRun
from gitops_bg.core.model.hooks import HookRun, HookType
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import Event, HookState, OperatorState, SwitchKind
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import Version
from gitops_bg.core.questions import answered_once
from gitops_bg.core.transitions.git.decisions import override
from gitops_bg.core.transitions.git.operator_requests import ANSWERS
from gitops_bg.core.transitions.traffic.abort import abort_rollout
from gitops_bg.core.transitions.verdicts.analysis import release_fallback
from gitops_bg.core.way_back import can_roll_back_without_gates
from gitops_bg.core.world import World


@dataclass(frozen=True, slots=True)
class ActingApp(AppSubject):
    """An app as the steps act on it (`core.delivery.subject.ActingSubject`)."""

    def waits_only_for_hooks(self) -> bool:
        """Whether every other gate before the switch is open."""
        coming = self.world.incoming
        return coming is not None and waits_only_for_hooks(self.world, coming)

    def counts(self, run: HookRun) -> bool:
        """Whether a run is of the present rollout of a version, and the newest one unless it goes on."""
        world, version = self.world, self.world.record.version(run.digest)
        if version is None or version.rollout != run.rollout:
            return False
        if run.final and not (world.incoming == version and self.waits_only_for_hooks()):
            return False
        is_left = run.digest == world.record.routing.traffic and world.switch_kind is SwitchKind.ROLLBACK
        if run.type is HookType.ROLLBACK and is_left:
            return False  # If it stays after all, its hooks are asked anew.
        newest = max(one.rollout for one in world.record.hook_state.runs)
        return run.rollout == newest or self.goes_forward(run.digest) or self.is_judged_live(run.digest)

    def versions(self) -> Iterator[str]:
        """The digests of the record."""
        return (version.digest for version in self.world.record.versions)

    def coming(self) -> str:
        """What traffic is to move to, else the candidate."""
        version = self.world.incoming or self.world.candidate
        return version.digest if version else ""

    def is_named(self, digest: str) -> bool:
        """Whether ``primary.yaml`` names it."""
        return self.world.primary_digest == digest

    def way_back(self, run: AnalysisRun) -> str:
        """The version that traffic left for this one, kept warm for it (DESIGN §4.5), if traffic may go there."""
        world, fallback = self.world, self.world.record.version(run.fallback)
        usable = fallback and world.snapshot(fallback).text and can_roll_back_without_gates(world.record, fallback)
        back = fallback if usable else world.rollback_target
        return back.digest if back else ""

    def with_part(self, part: HookState | Analyses | OperatorState) -> World:
        """The same world with that in its record."""
        return self.world.with_part(part)

    def with_ledger_entry(self, event: Event, digest: str, reason: str, by: str = "") -> World:
        """An entry without a commit: main did not ask for it."""
        return self.world.with_ledger_entry_of(event, digest, reason=reason, by=by)

    def carry_out(self, request: Request) -> World:
        """Every verb is known."""
        return ANSWERS[request.verb](self.world, request)

    def stop(self, digest: str, cause: Cause, reason: str, by: str = "") -> World:
        """Abort it; where ``primary.yaml`` names it already, it is to name the live one again."""
        return abort_rollout(self.world, self._version(digest), cause=cause, reason=reason, by=by)

    def go_back(self, to: str, cause: Cause, reason: str, by: str = "") -> World:
        """Send traffic there at once; the hold follows with the switch."""
        return override(self.world, self._version(to), cause=cause, reason=reason, by=by)

    def release(self, run: AnalysisRun) -> World:
        """Its scale-down delay begins."""
        return release_fallback(self.world, run)

    def _version(self, digest: str) -> Version:
        return next(version for version in self.world.record.versions if version.digest == digest)


@answered_once
def acting_app(world: World) -> Round[ActingApp]:
    """The hooks and analyses of an app, for steps."""
    return round_as(ActingApp(world), world)


step_of_app = steps_for(acting_app)

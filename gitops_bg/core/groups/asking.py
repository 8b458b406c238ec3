"""What the steps of `core.delivery` do to a group: hold and go back, what its hooks and analyses ask for."""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_bg.core.delivery.subject import Round, steps_for
from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.operators.holds import hold_version, leave_version, may_go_back
from gitops_bg.core.groups.operators.requests import abort
from gitops_bg.core.groups.subject import GroupSubject, round_as
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.analysis.history import Analyses
from gitops_bg.core.model.analysis.runs import AnalysisRun
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Event, HookState, OperatorState
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.questions import answered_once


@dataclass(frozen=True, slots=True)
class ActingGroup(GroupSubject):
    """A group as the steps act on it (`core.delivery.subject.ActingSubject`)."""

    def versions(self) -> Iterator[str]:
        """Those of the record, with what their folders say now."""
        return (self.world.digest_of(version.name) for version in self.world.record.state.versions)

    def coming(self) -> str:
        """The version that shall be active, and is not yet."""
        wanted, state = self.world.wanted, self.world.record.state
        return self.world.digest_of(wanted) if state.stage(wanted) is VersionStage.CANDIDATE else ""

    def is_named(self, digest: str) -> bool:
        """Whether group.yaml names it, as it does before anything is measured: so that answers no pause."""
        return self.world.spec.active == version_in(digest)

    def way_back(self, run: AnalysisRun) -> str:
        """The version that requests left for this one, unless something speaks against that."""
        return run.fallback if may_go_back(self.world, run.fallback) else ""

    def with_part(self, part: HookState | Analyses | OperatorState) -> GroupWorld:
        """The same world with that in its record. Each try has a number of its own."""
        return self.world.with_part(part)

    def noting(self, event: Event, digest: str, reason: str, by: str = "") -> GroupWorld:
        """An entry without a commit: main did not ask for it."""
        return self.world.noting_of(event, digest, reason=reason, by=by)

    def carry_out(self, request: Request) -> GroupWorld:
        """Of what a group has is in its folders: what else somebody asks for is a commit."""
        return abort(self.world, request) if request.verb is OperatorCommand.ABORT else self.world

    def stop(self, digest: str, cause: Cause, reason: str, by: str = "") -> GroupWorld:
        """Put it on hold; main stays as it is."""
        return hold_version(self.world, version_in(digest), cause, reason, by)

    def go_back(self, to: str, cause: Cause, reason: str, by: str = "") -> GroupWorld:
        """Begin the way back, and put what served on hold."""
        active = self.world.record.state.only(VersionStage.ACTIVE)
        return leave_version(self.world, active, version_in(to), cause, reason, by)

    def release(self, _: AnalysisRun) -> GroupWorld:
        """The legacy version keeps its pods until another promotion."""
        return self.world


@answered_once
def acting_group(world: GroupWorld) -> Round[ActingGroup]:
    """The hooks and analyses of a group, for steps."""
    return round_as(ActingGroup(world), world)


step_of_group = steps_for(acting_group)

"""What a group answers the steps of `core.delivery`, policies among them: a version is known by its name and what its
folder says.

Policies judge each service that moves with it as a version of its app, promoted by the commit of group.yaml; never on
the way back (I6).
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from gitops_bg.core.checks.policy_judge import judge_each
from gitops_bg.core.checks.policy_people import standing
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.gates import of_commit, place_in_queue
from gitops_bg.core.delivery.holds import was_lifted_since
from gitops_bg.core.delivery.subject import Judged, Round, steps_for
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.groups.attaching import requests_claimed_by_others, requests_kept
from gitops_bg.core.groups.inputs import MemberPolicing
from gitops_bg.core.groups.model import TransitionStep, VersionStage, version_in
from gitops_bg.core.groups.plan import carrying_routes
from gitops_bg.core.groups.record import GroupMove, GroupRecord, TransitionKind
from gitops_bg.core.groups.requests import abort, hold_version, leave_version, may_go_back
from gitops_bg.core.groups.succession import left_behind
from gitops_bg.core.groups.world import GroupWorld, member_name, members_healthy
from gitops_bg.core.model.analysis import Analyses, AnalysisRun, AnalysisStage
from gitops_bg.core.model.hooks import HookRun, HookType
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.policy_facts import PastMove, PolicyFacts
from gitops_bg.core.model.record import Event, HookState, OperatorState
from gitops_bg.core.model.statements import Cause, Hold
from gitops_bg.core.model.version import AppKey, AppOrGroup, Snapshot


@answered_once
def judged(world: GroupWorld, version: str) -> tuple[Judged, ...]:
    """Return what policies say about a version, for each of its services that they are for."""
    return tuple(_judged_service(world, version, name, asked) for name, asked in _policed(world, version))


def place(world: GroupWorld, version: str) -> tuple[int, str]:
    """Return the place of a version in the queue of those that wait for their turn."""
    since = next((each.changed_at for each in world.record.state.versions if each.name == version), world.now)
    merge = next((asked.promotion for _, asked in _policed(world, version)), None)
    return place_in_queue(world.key, merge, since)


def _policed(world: GroupWorld, version: str) -> Iterator[tuple[str, MemberPolicing]]:
    """Yield the services of a version that policies are for, by the name of their app."""
    for place in world.record.state.endpoints:
        name = member_name(place.service, place.initial_version)
        asked = world.desired.policing.get(name) if place.version == version else None
        if asked is not None:
            yield name, asked


def _judged_service(world: GroupWorld, version: str, name: str, asked: MemberPolicing) -> Judged:
    verdicts = judge_each(asked.policing.all_policies, lambda: _facts(world, version, name, asked), world.now)
    return Judged(name, tuple(of_commit(asked.policing.then)), verdicts)


def _facts(world: GroupWorld, version: str, name: str, asked: MemberPolicing) -> PolicyFacts:
    policing, app, moving = asked.policing, AppKey(world.key.namespace, name), world.record.transition
    commits = {commit.commit: commit for commit in policing.commits}
    return PolicyFacts(
        app=app,
        group=world.key,
        to=replace(asked.to, source=commits.get(asked.to.source_commit)),
        serving=asked.serving,
        labels=policing.labels,
        annotations=policing.annotations,
        available_since=asked.available_since,
        promoted=asked.promoted,
        promotion=commits.get(asked.promotion.commit) if asked.promotion is not None else None,
        queue=place(world, version),
        has_begun=moving is not None and not moving.goes_back and moving.target == version,
        others=policing.others,
        promotions=_past(world.record.moves, TransitionKind.PROMOTION),
        rollbacks=_past(world.record.moves, TransitionKind.ROLLBACK),
        approvals=standing(policing.approvals),
        authors=policing.authors,
        merger=policing.merger,
        merge=policing.merge,
        unheard=policing.unheard,
    )


def _past(moves: tuple[GroupMove, ...], kind: TransitionKind) -> tuple[PastMove, ...]:
    """Return the moves of a kind, newest first; a rollback is one of the version that it left."""
    return tuple(
        PastMove(each.at, each.target if kind is TransitionKind.PROMOTION else each.source)
        for each in reversed(moves)
        if each.kind is kind
    )


PRE, POST = AnalysisStage.PRE, AnalysisStage.POST


def version_of(run: AnalysisRun | HookRun) -> str:
    """Return the version that a run is about."""
    return version_in(run.digest)


def run_before(world: GroupWorld, version: str) -> AnalysisRun | None:
    """Return the analysis before the promotion of a version with what its folder says now; None: it has not begun."""
    run = world.record.analyses.run(PRE)
    return run if run is not None and run.digest == world.digest_of(version) else None


def run_after(world: GroupWorld) -> AnalysisRun | None:
    """Return the analysis after the promotion of the version that serves."""
    return run_of_active(world.record)


def run_of_active(record: GroupRecord) -> AnalysisRun | None:
    """Return the same, of a group of which only the record is known."""
    run = record.analyses.run(POST)
    is_active = run is not None and record.state.stage(version_of(run)) is VersionStage.ACTIVE
    return run if is_active else None


def latest_start(world: GroupWorld) -> datetime | None:
    """Return when the analysis after promotion begins though the Gateway has not taken all routes: it may refuse them
    for ever, and nobody would judge what serves. None where nothing waits for that.
    """
    run, left = run_after(world), world.record.left_at
    if run is None or run.started_at is not None or left is None or world.spec.post_promotion_analysis is None:
        return None
    return left + timedelta(seconds=world.spec.progress_deadline_seconds)


@dataclass(frozen=True, slots=True)
class GroupSubject:
    """A group as its hooks and analyses see it (`core.delivery.subject.AskingSubject`).

    Its versions have names of their own, so nobody asks one and gets an answer of another; and main names a version
    before anybody is asked about it.
    """

    world: GroupWorld

    def name(self, digest: str) -> str:
        """Return the name of a version, by which requests ask for it."""
        return version_in(digest)

    def title(self, digest: str) -> str:
        """Return what people call a version: what requests do."""
        return version_in(digest)

    def rollout(self, digest: str) -> int:
        """Return the number of a try: that of its measurements and hooks so far, else the next."""
        before, record = run_before(self.world, version_in(digest)), self.world.record
        asked = (run.rollout for run in record.hook_state.runs if run.digest == digest)
        return before.rollout if before is not None else next(asked, record.rollout + 1)

    def is_current(self, run: AnalysisRun) -> bool:
        """Return whether a verdict counts: before promotion for one content, and only until group.yaml names another
        version (to name it again measures again); after it for as long as the version serves.
        """
        version = version_of(run)
        is_asked_for = self.world.spec.active == version and run.digest == self.world.digest_of(version)
        return run.stage is POST or is_asked_for

    def goes_forward(self, digest: str) -> bool:
        """Return whether a version is to be promoted, and requests have not begun to move to it."""
        moving, state, version = self.world.record.transition, self.world.record.state, version_in(digest)
        return (
            bool(state.only(VersionStage.ACTIVE))
            and state.stage(version) is VersionStage.CANDIDATE
            and version == self.world.wanted
            and self.world.record.held(digest) is None
            and (moving is None or (moving.target == version and moving.step is TransitionStep.PREPARE))
        )

    def goes_back(self) -> bool:
        """Return whether the version before is to serve again."""
        return self.world.record.state.stage(self.world.wanted) is VersionStage.LEGACY

    def is_overruled(self, run: AnalysisRun) -> bool:
        """Return whether somebody named the version again, or has it tried again, once its failure was answered."""
        is_named = self.world.record.override is None and self.world.spec.active == version_of(run)
        return is_named and was_lifted_since(self.world.record, run)

    def is_judged_live(self, digest: str) -> bool:
        """Return whether it serves, its analysis after the promotion is not over, and the group does not go back
        anyway.
        """
        run, version = run_after(self.world), version_in(digest)
        if run is None or version_of(run) != version:
            return False
        return (run.running and not self.goes_back()) or (run.paused and self.world.wanted == version)

    def has_arrived(self) -> bool:
        """Return whether the Gateway has taken the routes that follow a promotion. Nobody waits for that for ever:
        requests moved when the step before was taken.
        """
        record, latest = self.world.record, latest_start(self.world)
        is_late = latest is not None and self.world.now >= latest
        return record.transition is None and (record.left_at is None or is_late)

    def snapshot(self, _: str) -> Snapshot | None:
        """Return nothing: its services have pods, each its own."""
        return None

    def may_prepare(self, _: str) -> bool:
        """Return that it has no Jobs of its own."""
        return False

    def is_new(self, _: str) -> bool:
        """Return the same."""
        return False

    def is_prepared(self, _: str) -> bool:
        """Return the same."""
        return True

    def serving(self) -> str:
        """Return nothing: a group has no contract of its own."""
        return ""

    def awaits_contract(self) -> str:
        """Return the same."""
        return ""

    def is_contracted(self, _: str) -> bool:
        """Return the same."""
        return False

    def owner(self) -> AppOrGroup:
        """Return the group."""
        return self.world.key

    def is_ready(self, digest: str) -> bool:
        """Return whether every service that a version brings is healthy."""
        return members_healthy(self.world, version_in(digest)).open

    def is_shown(self, _: str) -> bool:
        """Return True: a version answers under its own name."""
        return True

    def is_in_preview(self, _: str) -> bool:
        """Return True: a version answers under its own name."""
        return True

    def waits_only_for_hooks(self) -> bool:
        """Return False, as nothing is confirmed a second time: main named the version before the first."""
        return False

    def counts(self, run: HookRun) -> bool:
        """Return whether a run is about the version that group.yaml names, with its present content; or about what
        serves.
        """
        version, override = version_of(run), self.world.record.override
        may_lead_back = run.type is HookType.ROLLBACK and self.is_judged_live(run.digest)
        is_left = override is not None and version_in(override.from_digest) == version
        if run.type is HookType.ROLLBACK and is_left:
            return False  # If it stays after all, its hooks are asked anew.
        is_asked_for = self.world.spec.active == version or may_lead_back
        return is_asked_for and run.digest == self.world.digest_of(version)

    def retry_hint(self, digest: str) -> str:
        """Say what asks anew: another content does, and the same one once somebody asked for another version."""
        return f"to ask anew, {retry_hint(self.world, version_in(digest))}"

    def answer(self, run: AnalysisRun) -> str:
        """Say what measures anew: before a promotion as for a hook; what serves is measured once."""
        if run.stage is POST:
            return f"set active: {run.fallback} to go back, promote another version, or remove postPromotionAnalysis"
        return f"to measure anew, {retry_hint(self.world, version_of(run))}"

    def awaits_before(self, _: str) -> str:
        """Say what a measurement waits for: a version of a group is measured under its own name."""
        return "begins when every service is healthy, and nobody suspends the group"

    def awaits_after(self) -> str:
        """Say what it waits for: it begins when requests have moved."""
        return "begins when the Gateway has taken the routes"

    def arrival(self) -> datetime | None:
        """Return when a measurement begins at the latest: a Gateway may refuse the routes for ever."""
        return latest_start(self.world)

    def hold(self, digest: str) -> Hold | None:
        """Return what failed would fail again, what was aborted waits."""
        return self.world.record.held(digest)

    def lift(self, hold: Hold) -> str:
        """Return what a Gateway was too late for, it may be too late for again."""
        first = "mend what the Gateway says, then " if hold.cause is Cause.LATE else ""
        return f"{first}{retry_hint(self.world, version_in(hold.digest))}"

    def resume(self) -> str:
        """Return the verb that ends a suspension."""
        return f"gitops-bg resume {self.world.key}"

    def rival(self, digest: str) -> str:
        """Return which route of somebody else gets requests before those of the group, or would then, or which former
        name still does.
        """
        now = requests_claimed_by_others(self.world, carrying_routes(self.world))
        return now or requests_kept(self.world, version_in(digest)) or left_behind(self.world)

    def judged(self, digest: str) -> tuple[Judged, ...]:
        """Return what policies say about each service that moves with a version."""
        return judged(self.world, version_in(digest))

    def place(self, digest: str) -> tuple[int, str]:
        """Return the place of a version in the queue."""
        return place(self.world, version_in(digest))

    def metadata(self, run: HookRun) -> tuple[tuple[str, str], ...]:
        """Return the version, and the one that serves, or served before: their names are not their digests."""
        serves = self.is_judged_live(run.digest)
        former = self.world.fallback if serves else self.world.record.state.only(VersionStage.ACTIVE)
        return ("version", version_of(run)), ("formerVersion", former)


def retry_hint(world: GroupWorld, version: str) -> str:
    """Return what a person does to have a version measured, or asked about, once more."""
    back = world.record.state.only(VersionStage.ACTIVE)
    return f"gitops-bg retry {world.key}, change a file in {version}/, or set active: {back} and back"


G = TypeVar("G", bound=GroupSubject)


@answered_once
def round_of(world: GroupWorld) -> Round[GroupSubject]:
    """Return the hooks and analyses of a group, as they are."""
    return round_as(GroupSubject(world), world)


def round_as(group: G, world: GroupWorld) -> Round[G]:
    """Return the same for steps, which do more (`core.groups.subject`)."""
    record, spec = world.record, world.spec
    return Round(
        of=group,
        key=str(world.key),
        now=world.now,
        epoch=record.epoch,
        serving=record.state.only(VersionStage.ACTIVE),
        suspension=spec.suspend if world.suspended else None,
        frozen=world.suspended,
        resumed_at=world.resumed_at,
        operator=record.operator,
        requests=world.observed.requests,
        hooks=spec.hooks,
        hook_state=record.hook_state,
        before=spec.pre_promotion_analysis,
        after=spec.post_promotion_analysis,
        analyses=record.analyses,
        problems=world.desired.problems,
        main=world.desired.main,
        lost=world.lost,
        calls=world.observed.calls,
        measurements=world.observed.measurements,
    )


@dataclass(frozen=True, slots=True)
class ActingGroup(GroupSubject):
    """A group as the steps act on it (`core.delivery.subject.ActingSubject`)."""

    def versions(self) -> Iterator[str]:
        """Return those of the record, with what their folders say now."""
        return (self.world.digest_of(version.name) for version in self.world.record.state.versions)

    def coming(self) -> str:
        """Return the version that shall be active, and is not yet."""
        wanted, state = self.world.wanted, self.world.record.state
        return self.world.digest_of(wanted) if state.stage(wanted) is VersionStage.CANDIDATE else ""

    def is_named(self, digest: str) -> bool:
        """Return whether group.yaml names it, as it does before anything is measured: so that answers no pause."""
        return self.world.spec.active == version_in(digest)

    def way_back(self, run: AnalysisRun) -> str:
        """Return the version that requests left for this one, unless something speaks against that."""
        return run.fallback if may_go_back(self.world, run.fallback) else ""

    def with_part(self, part: HookState | Analyses | OperatorState) -> GroupWorld:
        """Return the same world with that in its record. Each try has a number of its own."""
        return self.world.with_part(part)

    def with_ledger_entry(self, event: Event, digest: str, reason: str, by: str = "") -> GroupWorld:
        """Write an entry without a commit: main did not ask for it."""
        return self.world.with_ledger_entry_of(event, digest, reason=reason, by=by)

    def carry_out(self, request: Request) -> GroupWorld:
        """Carry out nothing else: the rest that somebody asks for of a group is a commit."""
        return abort(self.world, request) if request.verb is OperatorCommand.ABORT else self.world

    def stop(self, digest: str, cause: Cause, reason: str, by: str = "") -> GroupWorld:
        """Put it on hold; main stays as it is."""
        return hold_version(self.world, version_in(digest), cause, reason, by)

    def go_back(self, to: str, cause: Cause, reason: str, by: str = "") -> GroupWorld:
        """Begin the way back, and put what served on hold."""
        active = self.world.record.state.only(VersionStage.ACTIVE)
        return leave_version(self.world, active, version_in(to), cause, reason, by)

    def closing(self, _: str) -> GroupWorld:
        """Change nothing: a group has no contract of its own."""
        return self.world

    def contracted(self, _: str) -> GroupWorld:
        """Change nothing, as well."""
        return self.world

    def prepared(self, _: str) -> GroupWorld:
        """Change nothing: a group has no Jobs of its own."""
        return self.world

    def release(self, _: AnalysisRun) -> GroupWorld:
        """Leave all as it is: the legacy version keeps its pods until another promotion."""
        return self.world


@answered_once
def acting_group(world: GroupWorld) -> Round[ActingGroup]:
    """Return the hooks and analyses of a group, for steps."""
    return round_as(ActingGroup(world), world)


step_of_group = steps_for(acting_group)

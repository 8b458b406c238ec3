"""A person's promotion or rollback: which version that is, what speaks against it, and the one change of primary.yaml,
to main or, if main refuses, on a branch.

The core decides which version it is; the agent moves the traffic.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gitops_bg.agent.operate.commits import CommandContext
from gitops_bg.agent.operate.requests import new_request
from gitops_bg.agent.operate.restore_version import side_of, version_in
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.core.checks.gates import shut_after_commit
from gitops_bg.core.checks.git import destination
from gitops_bg.core.checks.ports import services_of
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.holds import can_roll_back_to, closed_by
from gitops_bg.core.delivery.subject import answer_request
from gitops_bg.core.errors import CommandFailed, ObjectNotFound, UsageError, WorldChanged
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.policy_rules import Policy, Proof
from gitops_bg.core.model.record import Event, SwitchKind
from gitops_bg.core.model.statements import Says
from gitops_bg.core.model.version import AppKey, Version, version_name
from gitops_bg.core.transitions.verdicts import acting_app
from gitops_bg.core.transitions.versions import paused_versions
from gitops_bg.core.world import World
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.commits import Movement, Requester
from gitops_bg.repo.write.promotion import PrimaryChange, PrimaryResult
from gitops_bg.spec.app.primary import ConfigurationChange, configuration_changes, configuration_in, render_primary

# --- a promotion ---


@dataclass(frozen=True, slots=True)
class PrimaryPlan:
    """A change of primary.yaml, before it is made."""

    version: Version
    change: PrimaryChange[AppKey]
    waits: tuple[str, ...] = ()
    """What traffic would wait for."""
    request: Request | None = None
    """What the agent is to be asked besides, once the commit is made."""

    def says(self, branch: str) -> str:
        """Return what would become of ``branch``, as a sentence."""
        goes = "; live traffic would go there at once" if self.change.movement.event is Event.ROLLED_BACK else ""
        return f"{self.change.subject}: {branch} would name {self.version.name}{goes}"


def asked_of_agent(world: World, *, full: bool) -> OperatorCommand | None:
    """Return what a promotion asks the agent besides: all at once, or to measure anew what paused; None: nothing."""
    if full:
        return OperatorCommand.PROMOTE_FULL
    return OperatorCommand.PROMOTE if paused_versions(world) else None


def is_judged_live(world: World) -> bool:
    """Return whether no version is to be promoted, and the active one is still being analysed."""
    run = world.record.run(AnalysisStage.POST)
    judged = run is not None and run.digest == world.record.routing.traffic and run.open
    return judged and world.candidate is None and world.incoming is None


def demand_candidate(world: World, *, force: bool) -> Version:
    """Return the candidate of the record, if available. Raises `CommandFailed` with why there is none."""
    app, candidate = world.spec.app, world.candidate
    if candidate is None:
        raise CommandFailed(f"{app}: nothing to promote: {_why_none(world)}")
    if candidate.available_since is None and not force:
        shown = candidate.name
        why = candidate.failure or "its pods are not available yet"
        raise CommandFailed(f"{app}: {shown} is not checked: {why}; see `gitops-bg explain {app}`, or use --force")
    return candidate


def _why_none(world: World) -> str:
    app, digest = world.spec.app, world.target_digest
    hold = world.record.held(digest)
    if not digest:
        return "the target cannot be read; `gitops-bg check` says why"
    if digest == world.record.routing.traffic:
        return "the target is live"
    if hold:
        return f"the target is on hold: {hold.why}; `gitops-bg resume {app}` lifts it"
    return f"the agent has made no candidate of the target yet; see `gitops-bg explain {app}`"


def plan_promotion(  # noqa: PLR0913 - by keyword
    context: CommandContext,
    facts: Facts,
    world: World,
    candidate: Version,
    *,
    by: str,
    reason: str,
    full: bool = False,
    overrides: tuple[str, ...] = (),
    requester: Requester | None = None,
) -> PrimaryPlan:
    """Return the promotion of the candidate; without a reason, the subject of its commit is one."""
    asked, live = asked_of_agent(world, full=full), world.record.routing.traffic
    about = [candidate.digest] if full else paused_versions(world)
    request = new_request(asked, by, reason, about=about, live=live) if asked else None
    world = answer_request(world, request, acting_app) if request else world
    change = change_to(
        facts,
        world,
        candidate,
        Event.PROMOTED,
        by=by,
        reason=reason or candidate.source.subject,
        content=content_of(context, facts, world, candidate),
        overrides=overrides,
        requester=requester,
    )
    shut = tuple(gate.reason for gate in shut_after_commit(world, candidate))
    return PrimaryPlan(candidate, change, shut, request)


def demand_overridable(
    subject: object, policies: Iterable[Policy], names: Sequence[str], reason: str, email: str, *, signed: bool
) -> tuple[str, ...]:
    """Return the names of the policies to override, each of which permits this person, or a signature that the agent
    checks (policies.md §6). ``policies`` are those for the ``subject``. Raises `UsageError` with the reason otherwise.
    """
    known = {policy.name: policy for policy in policies}
    if names and not one_line(reason):
        raise UsageError("--override needs a --reason: it is in the ledger for all to see")
    for name in names:
        policy = known.get(name)
        if policy is None:
            raise UsageError(f"no policy {name} is for {subject}; known: {', '.join(known) or 'none'}")
        if policy.override is None:
            raise UsageError(f"{name} has no override: it can be changed only, in policies/")
        if policy.override.proof is Proof.SIGNED:
            if not signed:
                raise UsageError(f"{name} is overridden by a signature only: add --sign")
        elif email.lower() not in policy.override.emails:
            by = ", ".join(policy.override.by)
            raise UsageError(
                f"{name} may be overridden by {by} only, and {email} is none of them (policies/people.yaml)"
            )
    return tuple(dict.fromkeys(names))


def overridable_by(email: str, policies: Iterable[Policy], named: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of the policies that a person may override without a signature, and has not yet."""
    can = (policy for policy in policies if policy.override is not None and policy.override.proof is not Proof.SIGNED)
    by_them = {policy.name for policy in can if policy.override and email.lower() in policy.override.emails}
    return tuple(sorted(by_them.difference(named)))


# --- a rollback ---


def plan_rollback(  # noqa: PLR0913 - by keyword
    context: CommandContext,
    facts: Facts,
    world: World,
    to: int | None,
    *,
    by: str,
    reason: str,
    force: bool = False,
    requester: Requester | None = None,
) -> PrimaryPlan:
    """Return the way back to a version, by default the last good one. Raises `CommandFailed`, `ObjectNotFound`."""
    version, content = _goal(context.repository, world, to, force=force)
    content = content or content_of(context, facts, world, version)
    event = Event.ROLLED_BACK
    change = change_to(facts, world, version, event, by=by, reason=reason, content=content, requester=requester)
    return PrimaryPlan(version, change)


def _goal(repository: Repository, world: World, to: int | None, *, force: bool) -> tuple[Version, bytes]:
    """Return the version to go back to, and its primary.yaml from main. Raises `CommandFailed`, `ObjectNotFound`."""
    app = world.spec.app
    _demand_nothing_under_way(world, to)
    demand_good(world, to, force=force)
    version = destination(world, to, forced=force)
    if version is None and to is not None:
        content = repository.find_primary(app, version=to)
        if content is None:
            raise ObjectNotFound(f"{app}: neither the record nor main's history has a version {to} that served")
        version = version_in(content, app, repository.places.folder(app))
        _demand_no_objection(world, version, force=force)
        _demand_open(world, version)
        return version, content
    if version is None:
        raise CommandFailed(f"{app}: there is no good version to go back to; `gitops-bg history {app}` has all")
    _demand_open(world, version)
    return version, repository.find_primary(app, digest=version.digest) or b""


def _demand_open(world: World, version: Version) -> None:
    """Raise `CommandFailed` for what a contract has closed the way to: main cannot say that it is forced."""
    app, contract = world.spec.app, closed_by(world.record, world.desired.memory, version.digest)
    if contract is not None:
        forced = f"gitops-bg rollback {app} --to {version.number} --offline --force"
        raise CommandFailed(f"{app}: {version.name} {contract.why}; if it must be all the same: {forced}")


def demand_good(world: World, to: int | None, *, force: bool) -> None:
    """Raise `CommandFailed` with the objection to a version that is named by its number, if there is one."""
    version = world.record.numbered(to) if to is not None else None
    if version is None or force or version.digest == world.record.routing.traffic:
        return
    way = can_roll_back_to(world.record, version, by_name=True)
    if version.was_active and not way:
        raise CommandFailed(_not_good(world, version, way.why_not))


def _demand_no_objection(world: World, version: Version, *, force: bool) -> None:
    """Raise `CommandFailed` for a forgotten version: the record never forgets objections to a digest."""
    objection = world.record.objection(version.digest)
    active = world.active
    if force or version.digest == world.record.routing.traffic:
        return
    if objection is not None and objection.lifted is not Says.CLEARED:
        raise CommandFailed(_not_good(world, version, f"was bad ({objection.cause}): {objection.reason}"))
    if active is not None and version.number > active.number:
        raise CommandFailed(_not_good(world, version, f"is newer than v{active.number}, which serves now"))


def _not_good(world: World, version: Version, why: str) -> str:
    app, shown = world.spec.app, version.name
    return f"{app}: {shown} {why}; if it is good all the same, say so by --force (or without --to: the last good one)"


def _demand_nothing_under_way(world: World, to: int | None) -> None:
    """Refuse without --to while traffic moves forward: "back" is ambiguous then."""
    app, coming = world.spec.app, world.incoming
    if to is None and coming and world.active and world.switch_kind is SwitchKind.PROMOTION:
        shown = coming.name
        raise CommandFailed(
            f"{app}: {shown} is on its way; stop it by `gitops-bg abort {app}`, or name a version by --to"
        )


# --- the change of primary.yaml ---


@dataclass(frozen=True, slots=True)
class Proposed:
    """The result of a change. ``branch`` is where it is offered, because main refused it for ``refused``."""

    commit: str
    changed: bool
    branch: str = ""
    refused: str = ""

    def says(self, change: PrimaryChange[AppKey], branch: str) -> str:
        """Return what became of a change that ``branch`` took, as a sentence."""
        movement = change.movement
        shown = version_name(movement.to_version, movement.to_digest, movement.to_tag)
        return f"{change.subject}: {branch} names {shown} " + (
            f"by commit {self.commit[:10]}" if self.changed else "already"
        )


def content_of(context: CommandContext, facts: Facts, world: World, version: Version) -> bytes:
    """Return the primary.yaml of a version: its checked snapshot, and the content of its ConfigMaps and Secrets."""
    full = replace(version, snapshot=world.snapshot(version))
    contents = side_of(context, facts, version.snapshot, version.source.commit).contents
    folder = context.repository.places.folder(facts.app)
    return render_primary(facts.app, full, contents, services_of(world, version), folder).encode()


def change_to(  # noqa: PLR0913 - by keyword
    facts: Facts,
    world: World,
    version: Version,
    event: Event,
    *,
    by: str,
    reason: str,
    content: bytes,
    overrides: tuple[str, ...] = (),
    requester: Requester | None = None,
) -> PrimaryChange[AppKey]:
    """Return the change to primary.yaml = ``version``: ``content``, made now (`content_of`) or as main had it before.

    ``overrides`` are the policies that the request overrides.
    """
    active = world.active
    movement = Movement(
        subject=facts.app,
        event=event,
        from_version=active.number if active else None,
        from_digest=active.digest if active else "",
        to_version=version.number,
        to_digest=version.digest,
        from_tag=active.tag if active else "",
        to_tag=version.tag,
        source_commit=version.source.commit,
        rollout=version.rollout,
        by=by,
        reason=reason,
        overrides=overrides,
        requester=requester,
    )
    return PrimaryChange(content, facts.decided_from, movement, facts.offered_head)


def commit_or_offer(repository: Repository, change: PrimaryChange[AppKey]) -> Proposed:
    """Commit the change to main; if main refuses, put it on the promotion branch. Raises `WorldChanged` where somebody
    touched the app since the change was decided.
    """
    app = change.subject
    try:
        outcome = repository.promotions.commit([change])[app]
    except PushRefused as error:
        outcome = repository.promotions.offer([change])[app]
        _demand_current(outcome.result, change)
        return Proposed(
            outcome.commit, outcome.result is PrimaryResult.COMMITTED, repository.branch_of(app), str(error)
        )
    _demand_current(outcome.result, change)
    return Proposed(outcome.commit, outcome.result is PrimaryResult.COMMITTED)


def _demand_current(result: PrimaryResult, change: PrimaryChange[AppKey]) -> None:
    if result is PrimaryResult.SUPERSEDED:
        raise WorldChanged(f"{change.subject}: somebody touched its files in main meanwhile; look, and run it again")


def changed_by(facts: Facts, change: PrimaryChange[AppKey]) -> tuple[ConfigurationChange, ...]:
    """Return how the change's ConfigMaps and Secrets differ from those in main's primary.yaml."""
    primary = facts.desired.primary
    refs = primary.snapshot.configuration if primary else ()
    before = [each for each in facts.config.configuration if each.ref in refs]
    return configuration_changes(before, configuration_in(change.content, change.subject))

"""`promote`: the candidate's checked snapshot becomes primary.yaml, as a commit by the person who asked.

The record says which version is the candidate; its gates are checked where traffic moves. `--full`, and the answer to a
paused analysis, are sent to the agent as a request: the core knows what they mean.
"""

from dataclasses import dataclass
from typing import Annotated

import typer

from gitops_bg.cli.errors import OK, CommandFailed
from gitops_bg.cli.options.options import (
    AppOptions,
    AppOrGroup,
    CommitOptions,
    OverrideOptions,
    WaitOptions,
    version_option,
)
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.proposals import (
    change_to,
    changed_by,
    content_of,
    demand_overridable,
    number_named,
    propose,
    report_proposal,
    with_signature,
)
from gitops_bg.cli.repository.user_git import author
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.operator_requests import new_request
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.session.watch import wait_for_traffic
from gitops_bg.core.checks.gates import shut_after_commit
from gitops_bg.core.delivery.subject import answer_request
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey, Version
from gitops_bg.core.transitions.verdicts import acting_app
from gitops_bg.core.transitions.versions import paused_versions
from gitops_bg.core.world import World

_ASKED = {
    OperatorCommand.PROMOTE: "its analysis was inconclusive, and measures anew",
    OperatorCommand.PROMOTE_FULL: "without pause and analyses, as soon as all its pods are available",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOptions:
    """What is promoted, and in spite of what."""

    to: Annotated[
        str, version_option("Only if this version is the candidate: v4, 4, a tag, or the beginning of a digest.")
    ] = ""
    force: Annotated[
        bool,
        typer.Option("--force", help="Also promote a candidate that is not available yet; traffic waits for its pods."),
    ] = False
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Skip pause, analyses before and after, and previewReplicaCount; traffic waits for all pods. "
            "With nothing to promote: end the analysis of what serves.",
        ),
    ] = False


def promote(
    app: AppOrGroup,
    at: AppOptions,
    commit: CommitOptions,
    waiting: WaitOptions,
    overriding: OverrideOptions,
    what: CandidateOptions,
) -> int:
    """Promote the candidate: commit its checked snapshot as primary.yaml. Exit 3 where main takes only pull requests.

    An analysis that paused the app because it was inconclusive measures anew.

    Example: gitops-bg promote shop/web -m 'checked on the preview' --wait
    """
    output = Output(at.out, dry_run=commit.person.dry_run)
    by = author(commit.person.author)
    who = f"{by[0]} <{by[1]}>"
    git = with_signature(at.git, overriding)
    with Session(git, at.kube, at.place, by, about=apps_named(app), with_ledger=True, note=output.notice) as session:
        facts = session.facts(session.app(app))
        world = facts.world(session.now)
        asked = OperatorCommand.PROMOTE_FULL if what.full else OperatorCommand.PROMOTE if _is_paused(world) else None
        live = world.record.routing.traffic
        if asked and _is_judged_live(world):
            output.would(f"{facts.app}: what serves would stay live; {_ASKED[asked]}")
            about_live = new_request(asked, who, commit.message, about=[live], live=live)
            session.cluster.operator_requests.add(facts.app, about_live)
            return _print_serving_version(output, facts.app, world, asked)
        candidate = _candidate(facts.app, world, what.force or what.full)
        _demand_meant(facts.app, candidate, number_named(what.to, world, session))
        reason = commit.message or candidate.source.subject
        policies = world.desired.policing.policies if world.desired.policing else ()
        overrides = demand_overridable(
            facts.app, policies, overriding.override or (), commit.message, by[1], signed=git.signing_key is not None
        )
        about = [candidate.digest] if what.full else paused_versions(world)
        request = new_request(asked, who, commit.message, about=about, live=live) if asked else None
        world = answer_request(world, request, acting_app) if request else world
        content = content_of(session, facts, world, candidate)
        change = change_to(
            facts, world, candidate, Event.PROMOTED, by=who, reason=reason, content=content, overrides=overrides
        )
        shut = [gate.reason for gate in shut_after_commit(world, candidate)] if not overrides else []
        branch = session.repository.settings.branch
        output.would(
            f"{facts.app}: {branch} would name {candidate.name}",
            *(f"traffic would wait: {reason}" for reason in shut),
        )
        proposed = propose(session, output, change)
        if request:  # After the commit: a promotion that fails leaves every check as it is.
            _ask(session, facts.app, request)
        if waiting.wait and not proposed.branch:
            wait_for_traffic(session, at.kube, facts.app, candidate.digest, waiting.timeout)
        told = _ASKED[asked] if asked else ""
        return report_proposal(output, proposed, change, branch, told, shut, changed_by(facts, change))


def _is_paused(world: World) -> bool:
    """Return whether an analysis waits for a person."""
    return bool(paused_versions(world))


def _is_judged_live(world: World) -> bool:
    """Return whether no version is to be promoted, and the active one is still being analysed."""
    run = world.record.run(AnalysisStage.POST)
    judged = run is not None and run.digest == world.record.routing.traffic and run.open
    return judged and world.candidate is None and world.incoming is None


def _ask(session: Session, app: AppKey, request: Request) -> None:
    """Send the request that belongs to a commit. Raises `CommandFailed` with what the commit alone does."""
    try:
        session.cluster.operator_requests.add(app, request)
    except GitopsBgError as error:
        raise CommandFailed(f"{app}: the promotion is in Git, with all its checks: {error}") from error


def _print_serving_version(output: Output, app: AppKey, world: World, asked: OperatorCommand) -> int:
    """Report what a request did without a version to promote."""
    active = world.active
    shown = active.name if active else "what serves"
    done = "its analysis ends" if asked is OperatorCommand.PROMOTE_FULL else _ASKED[asked]
    output.both({"app": str(app), "changed": False, "asked": done}, f"{app}: {shown} stays live; {done}")
    return OK


def _candidate(app: AppKey, world: World, force: bool) -> Version:
    """Return the candidate of the record, if available. Raises `CommandFailed` with why there is none."""
    candidate = world.candidate
    if candidate is None:
        raise CommandFailed(f"{app}: nothing to promote: {_why_none(app, world)}")
    if candidate.available_since is None and not force:
        shown = candidate.name
        why = candidate.failure or "its pods are not available yet"
        raise CommandFailed(f"{app}: {shown} is not checked: {why}; see `gitops-bg explain {app}`, or use --force")
    return candidate


def _demand_meant(app: AppKey, candidate: Version, number: int | None) -> None:
    """Raise `CommandFailed` where another version was named: it may be the one that somebody looked at."""
    if number is not None and number != candidate.number:
        shown = candidate.name
        raise CommandFailed(f"{app}: the candidate is {shown}, not v{number}; nothing was promoted")


def _why_none(app: AppKey, world: World) -> str:
    digest = world.target_digest
    hold = world.record.held(digest)
    if not digest:
        return "the target cannot be read; `gitops-bg check` says why"
    if digest == world.record.routing.traffic:
        return "the target is live"
    if hold:
        return f"the target is on hold: {hold.why}; `gitops-bg resume {app}` lifts it"
    return f"the agent has made no candidate of the target yet; see `gitops-bg explain {app}`"

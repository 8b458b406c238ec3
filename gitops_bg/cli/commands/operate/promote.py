"""`promote`: the candidate's checked snapshot becomes primary.yaml, as a commit by the person who asked.

The record says which version is the candidate; its gates are checked where traffic moves. `--full`, and the answer to a
paused analysis, are sent to the agent as a request: the core knows what they mean.
"""

from typing import Annotated

import typer

from gitops_bg.agent.operate.primary import (
    asked_of_agent,
    changed_by,
    demand_candidate,
    demand_overridable,
    is_judged_live,
    plan_promotion,
)
from gitops_bg.agent.operate.requests import new_request
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
from gitops_bg.cli.repository.proposals import number_named, propose, report_proposal, with_signature
from gitops_bg.cli.repository.user_git import author
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.session.watch import wait_for_traffic
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.version import AppKey, Version
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
        asked, live = asked_of_agent(world, full=what.full), world.record.routing.traffic
        if asked and is_judged_live(world):
            output.would(f"{facts.app}: what serves would stay live; {_ASKED[asked]}")
            about_live = new_request(asked, who, commit.message, about=[live], live=live)
            session.cluster.operator_requests.add(facts.app, about_live)
            return _print_serving_version(output, facts.app, world, asked)
        candidate = demand_candidate(world, force=what.force or what.full)
        _demand_meant(facts.app, candidate, number_named(what.to, world, session))
        policies = world.desired.policing.policies if world.desired.policing else ()
        overrides = demand_overridable(
            facts.app, policies, overriding.override or (), commit.message, by[1], signed=git.signing_key is not None
        )
        plan = plan_promotion(
            session, facts, world, candidate, by=who, reason=commit.message, full=what.full, overrides=overrides
        )
        change, shut = plan.change, () if overrides else plan.waits
        branch = session.repository.settings.branch
        output.would(
            plan.says(branch),
            *(f"traffic would wait: {reason}" for reason in shut),
        )
        proposed = propose(session, output, change)
        if plan.request:  # After the commit: a promotion that fails leaves every check as it is.
            _ask(session, facts.app, plan.request)
        if waiting.wait and not proposed.branch:
            wait_for_traffic(session, at.kube, facts.app, candidate.digest, waiting.timeout)
        told = _ASKED[asked] if asked else ""
        return report_proposal(output, proposed, change, branch, told, shut, changed_by(facts, change))


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


def _demand_meant(app: AppKey, candidate: Version, number: int | None) -> None:
    """Raise `CommandFailed` where another version was named: it may be the one that somebody looked at."""
    if number is not None and number != candidate.number:
        shown = candidate.name
        raise CommandFailed(f"{app}: the candidate is {shown}, not v{number}; nothing was promoted")

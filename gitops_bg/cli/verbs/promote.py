"""`promote`: the candidate's checked snapshot becomes primary.yaml, as a commit by the person who asked.

Which version is the candidate is what the record says; that its gates are open is demanded where traffic moves.
"""

from typing import Annotated

import typer

from gitops_bg.cli.arriving import wait_for_traffic
from gitops_bg.cli.errors import NotSo
from gitops_bg.cli.options import App, AppOptions, CommitOptions, WaitOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.proposals import change_to, propose, tell
from gitops_bg.cli.session import Session
from gitops_bg.cli.user_git import author
from gitops_bg.core.actions import label
from gitops_bg.core.model import AppKey, Version
from gitops_bg.core.record import Event
from gitops_bg.core.world import World


def promote(
    app: App,
    at: AppOptions,
    commit: CommitOptions,
    waiting: WaitOptions,
    force: Annotated[
        bool, typer.Option("--force", help="Also one that is not available yet; traffic waits for its pods.")
    ] = False,
) -> int:
    """Promote the candidate: commit its checked snapshot as primary.yaml. Exit 3 where main takes only pull requests.

    Example: gitops-bg promote shop/web -m 'checked on the preview' --wait
    """
    output = Output(at.out)
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, with_ledger=True) as session:
        facts = session.facts(session.app(app))
        world = facts.world(session.now)
        candidate = _candidate(facts.app, world, force)
        reason = commit.message or candidate.source.subject
        change = change_to(facts, world, candidate, Event.PROMOTED, by=f"{by[0]} <{by[1]}>", reason=reason)
        proposed = propose(session, change)
        session.nudge(facts.app)
        if waiting.wait and not proposed.branch:
            wait_for_traffic(session, at.kube, facts.app, candidate.digest, waiting.timeout)
        return tell(output, proposed, change, at.git.branch)


def _candidate(app: AppKey, world: World, force: bool) -> Version:
    """The candidate of the record, available. Raises `NotSo` with why there is none."""
    candidate = world.candidate
    if candidate is None:
        raise NotSo(f"{app}: nothing to promote: {_why_none(app, world)}")
    if candidate.available_since is None and not force:
        shown = label(candidate.number, candidate.digest)
        why = candidate.failure or "its pods are not available yet"
        raise NotSo(f"{app}: {shown} is not checked: {why}; see `gitops-bg explain {app}`, or use --force")
    return candidate


def _why_none(app: AppKey, world: World) -> str:
    digest = world.target_digest
    hold = world.record.held(digest)
    if not digest:
        return "the target cannot be read; `gitops-bg check` says why"
    if digest == world.record.traffic:
        return "the target is live"
    if hold:
        return f"the target is on hold: {hold.reason}; `gitops-bg resume {app}` lifts it"
    return f"the agent has made no candidate of the target yet; see `gitops-bg explain {app}`"

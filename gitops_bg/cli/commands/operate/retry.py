"""Asks the agent to do something once more: `retry` a rollout of the target, with fresh checks, and `restart` the pods
of the running versions, each by a commit; `reconcile` now, by an annotation.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from gitops_bg.agent.operate.commits import retried, retry_of, retrying
from gitops_bg.cli.options.options import App, AppOptions, Apps, CommitOptions, LiveOptions
from gitops_bg.cli.options.values import seconds
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.commits import commit_to_apps
from gitops_bg.cli.repository.user_git import author
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.write.main_branch import Edit
from gitops_bg.spec.manifests.edit import set_restart
from gitops_bg.views.words import spoken


def retry(apps: Apps, at: AppOptions, commit: CommitOptions) -> None:
    """Try the target again: start a new rollout with fresh checks, whatever held or paused the last one.

    Example: gitops-bg retry shop/web -m 'the database is back'
    """
    output = Output(at.out, dry_run=commit.person.dry_run)
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, about=apps_named(*apps), note=output.notice) as session:
        asked = {key: _asked(session, key, f"{by[0]} <{by[1]}>") for key in session.apps_in_git(apps)}
        edits = {key: retrying(session.app_file(key), request) for key, (request, _) in asked.items()}
        what = ", ".join(dict.fromkeys(shown for _, shown in asked.values()))
        made = commit_to_apps(session, output, edits, f"retry {what}", commit.message)
        for key in asked:
            session.nudge(key)
    output.each(
        (
            {"app": str(key), "digest": request.digest, "number": request.number, "commit": made[key]},
            retried(key, shown, made[key]),
        )
        for key, (request, shown) in asked.items()
    )


def _asked(session: Session, app: AppKey, by: str) -> tuple[Retry, str]:
    """Return the retry of an app's target, and the name of that version. Raises `CommandFailed`."""
    facts = session.facts(app)
    return retry_of(app, facts, facts.world(session.now), by)


def restart(
    apps: Apps,
    at: AppOptions,
    commit: CommitOptions,
    delay: Annotated[
        float,
        typer.Option("--in", parser=seconds, metavar="DURATION", show_default="now", help="Wait this long first."),
    ] = 0.0,
) -> None:
    """Restart the pods of apps, a few at a time: by eviction, as maxUnavailable and PodDisruptionBudgets allow.

    Example: gitops-bg restart shop/web --in 10m -m 'new certificates'
    """
    output = Output(at.out, dry_run=commit.person.dry_run)
    moment = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=delay)
    when = f" in {spoken(delay)}" if delay else ""
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, about=apps_named(*apps), note=output.notice) as session:
        edits = {key: _restarting(session.app_file(key), moment) for key in session.apps_in_git(apps)}
        made = commit_to_apps(session, output, edits, f"restart{when}", commit.message)
    output.each(
        (
            {"app": str(key), "restartAt": moment.isoformat(), "commit": made[key]},
            f"{key}: restarts its pods{when} by commit {made[key][:10]}",
        )
        for key in edits
    )


def _restarting(file: str, moment: datetime) -> Edit:
    return lambda data: set_restart(data, moment, file)


def reconcile(app: App, at: LiveOptions) -> None:
    """Have the agent look at Git and at this app now, instead of at its next poll.

    Example: gitops-bg reconcile shop/web
    """
    output = Output(at.out)
    with Session(kube=at.kube, place=at.place) as session:
        key, asked = session.app(app), session.now
        session.cluster.reconcile(key, asked)
    output.both({"app": str(key), "requestedAt": asked.isoformat()}, f"{key}: the agent was asked to look now")

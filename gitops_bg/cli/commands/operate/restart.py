"""`restart`: new pods for the running versions, by a commit that sets ``restartAt``; no new version, no switch."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from gitops_bg.cli.clone.user_git import author
from gitops_bg.cli.edits.commits import commit_to_apps
from gitops_bg.cli.options.durations import seconds, spoken
from gitops_bg.cli.options.options import AppOptions, Apps, CommitOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.repo.write.edits import Edit
from gitops_bg.spec.yaml.edit import set_restart


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
    with Session(at.git, at.kube, at.place, by, about=apps_named(*apps), note=output.note) as session:
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

"""`suspend`, which Argo Rollouts calls `pause`: stops all but rollbacks, as a commit: who, why, until when.

It replaces no suspension that is in force, unless somebody says so: that may be a colleague's, and last longer.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from gitops_bg.cli.clone.user_git import author
from gitops_bg.cli.edits.commits import commit_to_apps
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options.durations import seconds
from gitops_bg.cli.options.options import AppOptions, Apps, AuthorOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import AppKey, AppOrGroup
from gitops_bg.repo.write.edits import Edit
from gitops_bg.spec.app.to_core import suspension_in
from gitops_bg.spec.yaml.edit import set_suspend


def moment_option(text: str) -> datetime:
    """Parse a time with its zone, or a duration from now. Raises ``typer.BadParameter``."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds(text))
    if moment.tzinfo is None:
        raise typer.BadParameter(f"{text!r} has no zone; write 2026-03-01T12:00:00Z, or a duration such as 2h")
    return moment


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendOptions:
    """The reason, and the end."""

    reason: Annotated[
        str, typer.Option("--reason", "-r", "--message", "-m", help="Why; shown with the app everywhere.")
    ] = "suspended by hand"
    until: Annotated[
        datetime | None,
        typer.Option(parser=moment_option, metavar="TIME", help="When it ends: a time, or 2h from now."),
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Also replace a suspension that is in force: its reason, author and end.")
    ] = False


def suspend(apps: Apps, at: AppOptions, person: AuthorOptions, how: SuspendOptions) -> None:
    """Suspend apps: no candidate, no promotion; live traffic stays, and rollbacks still work. `resume` ends it.

    Example: gitops-bg suspend shop/web --reason 'incident 4711' --until 2h
    """
    output = Output(at.out, dry_run=person.dry_run)
    by = author(person.author)
    suspension = Suspension(how.reason, f"{by[0]} <{by[1]}>", how.until)
    with Session(at.git, at.kube, at.place, by, about=apps_named(*apps), note=output.note) as session:
        keys = session.apps_in_git(apps)
        edits = {key: suspending(key, session.app_file(key), suspension, force=how.force) for key in keys}
        made = commit_to_apps(session, output, edits, "suspend", how.reason)
    output.each(
        ({"app": str(key), "commit": commit, "changed": bool(commit)}, _said(key, commit))
        for key, commit in made.items()
    )


def pause(apps: Apps, at: AppOptions, person: AuthorOptions, how: SuspendOptions) -> None:
    """Suspend apps: the same as `suspend`, under Argo Rollouts' name. `resume` ends it.

    Example: gitops-bg pause shop/web shop/api --reason 'incident 4711'
    """
    suspend(apps, at, person, how)


def suspending(who: AppOrGroup, file: str, suspension: Suspension, *, force: bool) -> Edit:
    """The edit that suspends an app or a group. Raises `CommandFailed` where it is suspended already."""

    def change(data: bytes) -> bytes:
        standing = suspension_in(data, file)
        if standing and standing != suspension and standing.lasts(datetime.now(UTC)) and not force:
            raise CommandFailed(_suspended_already(who, standing))
        return set_suspend(data, suspension, file)

    return change


def _suspended_already(who: AppOrGroup, standing: Suspension) -> str:
    by = f" by {standing.by}" if standing.by else ""
    end = f"until {standing.until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if standing.until else "until it is resumed"
    return f"{who}: suspended already{by}, {end}: {standing.reason}; to replace that, say so by --force"


def _said(app: AppKey, commit: str) -> str:
    return f"{app}: suspended by commit {commit[:10]}" if commit else f"{app}: suspended already"

"""`suspend`: stops everything but going back, as a commit that says who, why and until when."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from gitops_bg.cli.commits import commit_change, in_app
from gitops_bg.cli.durations import seconds
from gitops_bg.cli.options import App, AuthorOptions, FileOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session import Session
from gitops_bg.cli.user_git import author
from gitops_bg.core.spec import Suspension
from gitops_bg.spec.edit import set_suspend
from gitops_bg.spec.layout import APP_FILE, app_file


def _moment(text: str) -> datetime:
    """A time with its zone, or a duration from now."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds(text))
    if moment.tzinfo is None:
        raise typer.BadParameter(f"{text!r} has no zone; write 2026-03-01T12:00:00Z, or a duration such as 2h")
    return moment


def suspend(
    app: App,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why; shown wherever the app is.")],
    at: FileOptions,
    person: AuthorOptions,
    until: Annotated[
        datetime | None, typer.Option(parser=_moment, metavar="TIME", help="When it ends: a time, or 2h from now.")
    ] = None,
) -> None:
    """Suspend an app: no candidate, no promotion; live traffic and the way back stay.

    Example: gitops-bg suspend shop/web --reason 'incident 4711' --until 2h
    """
    output = Output(at.out)
    by = author(person.author)
    with Session(at.git, place=at.place, author=by) as session:
        key = session.app_in_git(app)
        suspension = Suspension(reason, f"{by[0]} <{by[1]}>", until)

        def change(data: bytes) -> bytes:
            return set_suspend(data, suspension, app_file(key, APP_FILE))

        made = commit_change(session, in_app(key, APP_FILE, change, "suspend", reason))
    sentence = f"{key}: suspended by commit {made[:10]}" if made else f"{key}: suspended already"
    output.both({"app": str(key), "commit": made, "changed": bool(made)}, sentence)

"""`accept-history`: takes a rewritten main for good, as a commit that names it. Promotions wait until then."""

from typing import Annotated

import typer

from gitops_bg.cli.commits import Change, commit_change
from gitops_bg.cli.errors import NotSo
from gitops_bg.cli.options import CommitOptions, GitOptions, OutputOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session import Session
from gitops_bg.cli.user_git import author
from gitops_bg.spec.edit import set_settings_history
from gitops_bg.spec.layout import SETTINGS_FILE


def accept_history(
    git: GitOptions,
    by: CommitOptions,
    out: OutputOptions,
    accepted: Annotated[
        str, typer.Option("--commit", metavar="SHA", help="A commit of the new history. Default: main's head.")
    ] = "",
) -> None:
    """Accept main as it is after somebody rewrote its history, so that promotions go on.

    Example: gitops-bg accept-history -m 'secrets were removed from the history'
    """
    output = Output(out)
    with Session(git, author=author(by.person.author)) as session:
        sha = accepted or session.repository.head
        if not session.repository.contains(sha):
            raise NotSo(f"main does not contain {sha}; name a full commit id of the history to accept")
        edits = {SETTINGS_FILE: lambda data: set_settings_history(data, sha)}
        change = Change(edits, f"accept the history of {sha[:10]}", by.message)
        made = commit_change(session, output, change)
    sentence = (
        f"accepted the history of {sha[:10]} by commit {made[:10]}" if made else f"{sha[:10]} is accepted already"
    )
    output.both({"accepted": sha, "commit": made, "changed": bool(made)}, sentence)

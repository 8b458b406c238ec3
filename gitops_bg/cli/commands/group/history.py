"""`group history`: `history` of a release group, also of one whose folder left main."""

from typing import Annotated

import typer

from gitops_bg.cli.commands.group.arguments import Group
from gitops_bg.cli.commands.inspect.history import reading, show
from gitops_bg.cli.options.names import app_name
from gitops_bg.cli.options.options import AppOptions
from gitops_bg.cli.session.group_session import group_in_git
from gitops_bg.cli.session.location import group_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.output import Output
from gitops_bg.core.model.version import GroupKey


def history(
    at: AppOptions,
    group: Group,
    limit: Annotated[int, typer.Option("--limit", "-l", min=1, help="Show at most so many, newest first.")] = 1_000_000,
) -> None:
    """Show the history of a group, the newest first: what, when, from which version to which, why.

    COMMIT is the head of main that the agent followed.

    Example: gitops-bg group history shop/store
    """
    output = Output(at.out)
    with reading(at, group_named(group), output) as session:
        show(output, session.repository, _meant(session, group, at.place.namespace), limit)


def _meant(session: Session, name: str, namespace: str) -> GroupKey:
    """The group that a person means; one whose folder left main has a history, too."""
    written, bare = app_name(name)
    namespace = written or namespace
    return GroupKey(namespace, bare) if namespace else group_in_git(session, name)

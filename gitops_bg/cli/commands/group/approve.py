"""`group approve`: approves a version of a group by a signature, or withdraws that. Needs Git alone.

As `approve` for apps: an empty commit on the group's own branch, of all that main has of the version now.
"""

from dataclasses import replace
from typing import Annotated

import typer

from gitops_bg.agent.groups.promoted import GroupVersions
from gitops_bg.cli.clone.user_git import author, signing_key
from gitops_bg.cli.commands.group.arguments import Group, a_version_or_none
from gitops_bg.cli.commands.operate.approve import given_by, why_it_does_not_count
from gitops_bg.cli.errors import ObjectNotFound
from gitops_bg.cli.exit_codes import NOT_SO, OK
from gitops_bg.cli.options.options import AppOptions, CommitOptions
from gitops_bg.cli.session.group_session import group_in_git
from gitops_bg.cli.session.location import group_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.output import Output
from gitops_bg.core.groups.branches import approvals_branch_of
from gitops_bg.core.groups.model import GroupKey
from gitops_bg.repo.repository import Repository


def approve(
    group: Group,
    at: AppOptions,
    commit: CommitOptions,
    version: Annotated[
        str,
        typer.Argument(parser=a_version_or_none, metavar="[VERSION]", help="Such as v2; none: what group.yaml names."),
    ] = "",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take your approval of it back.")] = False,
) -> int:
    """Approve a version of a group with your SSH key, with all that main has in its folder now.

    It counts as that of an app (gitops-bg approve): if your key is in policies/allowed_signers. Exit 1 if it does not.

    Example: gitops-bg group approve shop/store v2 -m 'checked with X-Version'
    """
    output, by = Output(at.out, dry_run=commit.person.dry_run), author(commit.person.author)
    git, about = replace(at.git, signing_key=signing_key(at.git.signing_key)), group_named(group)
    with Session(git, at.kube, at.place, by, about=about, note=output.note) as session:
        named, repository = group_in_git(session, group, at.place.namespace), session.repository
        digest = _content(repository, named, version)
        repository.follow_approvals(True)
        repository.poll()
        shown = digest.partition("@")[0]
        if withdraw:
            given = given_by(repository, named, digest, shown, by[1])
            output.would(f"{named}: would withdraw your approval {given[:10]} of {shown}")
            made = repository.withdraw_approval(named, given, reason=commit.message)
            done = f"{named}: your approval {given[:10]} of {shown} is withdrawn by commit {made[:10]}"
        else:
            output.would(f"{named}: would approve {shown} on {approvals_branch_of(named)}")
            made = repository.approve(named, digest, label=shown, reason=commit.message)
            where = f"commit {made[:10]} on {approvals_branch_of(named)}"
            done = f"{named}: approved {shown} with all that main has in its folder; {where}"
        why_not = why_it_does_not_count(repository, made)
    data = {"group": str(named), "digest": digest, "commit": made, "branch": approvals_branch_of(named)}
    output.both({**data, "withdrawn": withdraw, "counts": not why_not}, done)
    if why_not and not output.json:
        output.line(f"it does not count: {why_not}", "red")
    return NOT_SO if why_not else OK


def _content(repository: Repository, group: GroupKey, version: str) -> str:
    """Return what main has of a version. Raises `ObjectNotFound`."""
    found = GroupVersions(repository).content_at(group, repository.head, version)
    if found is None:
        what = version or "the version that group.yaml names"
        raise ObjectNotFound(f"nobody can read the folder of {what} of {group}")
    return found

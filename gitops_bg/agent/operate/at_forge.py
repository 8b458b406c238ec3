"""What goes through the forge as the person who asks, of apps and of groups: what main refuses, and approvals.

Only what the person asked for comes to main as them: people share the branches, and whoever may push to one may have
put something beside it.
"""

import logging
from collections.abc import Callable, Container
from dataclasses import replace

from gitops_bg.agent.logs import fields
from gitops_bg.agent.operate.asked import Answer, AppCommand, Asked, PlannedCommand
from gitops_bg.agent.operate.personal_forge import PersonalForge
from gitops_bg.core.errors import CommandFailed, GitopsBgError
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.repo.repository import Repository

_log = logging.getLogger(__name__)


def through_the_forge(
    answer: Answer,
    asked: Asked,
    repository: Repository,
    *,
    files: Container[str],
    title: str,
    merged: Callable[[], None],
) -> Answer:
    """Return what became of a change of ``files`` that waits on a branch, because main refused it: merged by the
    person, where they have an account at the forge, it lets them, and the branch changes nothing else; else it waits
    still. ``merged`` has the agent look at Git.
    """
    if not answer.branch:
        return answer
    says = f"{answer.says}; {repository.settings.branch} takes no commit from the agent, so"
    if asked.account is None:
        return replace(answer, says=f"{says} that has to be merged")
    try:
        demand_nothing_beside(answer.branch, repository.extra_files(files, answer.commit), "merge")
        body = f"{asked.reason}\n\nAsked for on the dashboard.".strip()
        done = asked.account.merge(answer.branch, answer.commit, title, body)
    except GitopsBgError as error:
        said = fields(by=str(asked.by), subject=asked.by.subject, branch=answer.branch, commit=answer.commit)
        _log.warning("not merged as a person: %s", one_line(str(error)), extra=said)
        pull = answer.pull or _open_pull(asked.account, answer.branch)
        return replace(answer, says=f"{says} that has to be merged; as you it was not: {error}", pull=pull)
    merged()
    return Answer(says=f"{says} it was merged as you", commit=done.commit or answer.commit, pull=done.url)


def demand_nothing_beside(branch: str, more: tuple[str, ...], doing: str) -> None:
    """Raise `CommandFailed` where a branch changes ``more`` than what somebody asked for, or looked at here."""
    if more:
        named = ", ".join(map(one_line, more))
        raise CommandFailed(
            f"{branch} also changes {named}, which nobody sees here: look at its pull request, and {doing} it there, "
            "or take that out of the branch"
        )


def _open_pull(account: PersonalForge, branch: str) -> str:
    try:
        return account.open_pull(branch)
    except GitopsBgError:
        return ""


def demand_account(asked: Asked) -> PersonalForge:
    """Return the account of the person. Raises `CommandFailed` where they did not log in with one of the forge."""
    if asked.account is None:
        raise CommandFailed(
            "approvals are reviews of the pull request, under the person's own account: give yours at the forge, or "
            "log in here with the account of the forge (`forge` of the login file)"
        )
    return asked.account


def approval(
    account: PersonalForge, about: AppOrGroup, command: AppCommand, branch: str, head: str, name: str
) -> PlannedCommand:
    """Return the approval of a version on the ``branch`` of an app or a group, whose head is ``head``; or its end."""
    if command is AppCommand.APPROVE:
        says = f"{about}: would approve {name}, commit {head[:10]} of {branch}, at the forge as you"
        return PlannedCommand(
            says=says,
            carry_out=lambda: Answer(says=f"{about}: you approved {name}", pull=account.approve(branch, head)),
            digest=head,
        )
    return PlannedCommand(
        says=f"{about}: would take your approval of {branch} back at the forge",
        carry_out=lambda: Answer(says=f"{about}: you approve it no longer", pull=account.withdraw_approval(branch)),
        digest=head,
    )

"""What goes through the forge as the person who asks, of apps and of groups: what main refuses, and approvals."""

from collections.abc import Callable
from dataclasses import replace

from gitops_bg.agent.operate.asked import Answer, AppCommand, Asked, PlannedCommand
from gitops_bg.agent.operate.personal_forge import PersonalForge
from gitops_bg.core.errors import CommandFailed, GitopsBgError
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.names import promotion_branch


def through_the_forge(answer: Answer, asked: Asked, main: str, title: str, merged: Callable[[], None]) -> Answer:
    """Return what became of a change that waits on a branch, because ``main`` refused it: merged by the person, where
    they have an account at the forge and it lets them; else it waits still. ``merged`` has the agent look at Git.
    """
    if not answer.branch:
        return answer
    says = f"{answer.says}; {main} takes no commit from the agent, so"
    if asked.account is None:
        return replace(answer, says=f"{says} that has to be merged")
    try:
        body = f"{asked.reason}\n\nAsked for on the dashboard.".strip()
        done = asked.account.merge(answer.branch, answer.commit, title, body)
    except GitopsBgError as error:
        pull = answer.pull or _open_pull(asked.account, answer.branch)
        return replace(answer, says=f"{says} that has to be merged; as you it was not: {error}", pull=pull)
    merged()
    return Answer(says=f"{says} it was merged as you", commit=done.commit or answer.commit, pull=done.url)


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
    account: PersonalForge, about: AppOrGroup, command: AppCommand, head: str, name: str, digest: str
) -> PlannedCommand:
    """Return the approval of a version on the branch of an app or a group, whose head is ``head``; or its end."""
    branch = promotion_branch(about)
    if command is AppCommand.APPROVE:
        says = f"{about}: would approve {name}, commit {head[:10]} of {branch}, at the forge as you"
        return PlannedCommand(
            says=says,
            carry_out=lambda: Answer(says=f"{about}: you approved {name}", pull=account.approve(branch, head)),
            digest=digest,
        )
    return PlannedCommand(
        says=f"{about}: would take your approval of {branch} back at the forge",
        carry_out=lambda: Answer(says=f"{about}: you approve it no longer", pull=account.withdraw_approval(branch)),
        digest=digest,
    )

"""Writes signed approvals: an empty commit with trailers, appended by compare-and-swap to a branch of the app or group.

It needs Git alone: a forge that is down does not block (policies.md §6). It signs with the key of the settings.
"""

from gitops_bg.core.groups.branches import AppOrGroup, approvals_branch_of, signed_name
from gitops_bg.core.text.printable import one_line
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.push import Pusher, Update, Verdict
from gitops_bg.repo.read.approvals import APP, APPROVES, MAIN, WITHDRAWS
from gitops_bg.repo.write.commits import Committer, Draft


class ApprovalWriter:
    """Appends to the branches of approvals."""

    def __init__(self, mirror: Mirror, committer: Committer, pusher: Pusher) -> None:
        self._mirror = mirror
        self._committer = committer
        self._pusher = pusher

    def approve(self, app: AppOrGroup, digest: str, main: str, *, label: str, reason: str) -> str:
        """Approve a version; return the commit. Raises ``PushRefused``, ``RemoteMoved``, and the errors of
        the remote.
        """
        return self._append(app, f"Approve {signed_name(app)} {label}", reason, [(APPROVES, digest), (MAIN, main)])

    def withdraw(self, app: AppOrGroup, approval: str, main: str, *, reason: str) -> str:
        """Withdraw an approval; return the commit. Raises as `approve`."""
        subject = f"Withdraw the approval {approval[:10]} of {signed_name(app)}"
        return self._append(app, subject, reason, [(WITHDRAWS, approval), (MAIN, main)])

    def _append(self, app: AppOrGroup, subject: str, reason: str, values: list[tuple[str, str]]) -> str:
        trailers = "\n".join(f"{name}: {one_line(value)}" for name, value in [(APP, signed_name(app)), *values])
        said = f"Reason: {one_line(reason)}" if reason else ""
        message = "\n\n".join(filter(None, [one_line(subject), said, trailers])) + "\n"
        branch, attempts = approvals_branch_of(app), self._pusher.attempts()
        for _ in attempts:
            tip = self._mirror.tracked().get(branch)
            [commit] = self._committer.build([Draft(tip, {}, message)])
            answer = self._pusher.push([Update(branch, tip, commit)])
            if answer.verdicts[branch] is Verdict.TAKEN:
                return commit
            attempts.judge(answer)
            self._mirror.follow(self._mirror.remote_branches())
        raise attempts.given_up()

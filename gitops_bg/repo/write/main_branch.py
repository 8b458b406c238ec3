"""Commits to main: the head that a commit is based on, what a refused push means for it, and people's edits of files,
for the command line.

Knows no file's meaning: an edit is a function. It applies to the content of main at the time of the push; where main
moved, it is applied again to the new content (never rebased or merged), so that no change is lost.
"""

from collections.abc import Callable, Mapping

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.main import VerificationFailure
from gitops_bg.repo.git.directory import locked
from gitops_bg.repo.git.errors import OwnCommitNotChecked, PushRefused, RemoteMoved
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.read.files import Files
from gitops_bg.repo.write.commits import CommitDraft, Committer, Requester
from gitops_bg.repo.write.push import Pusher, PushVerdict, Update

_OF_THE_KEY = (VerificationFailure.UNKNOWN_KEY, VerificationFailure.KEY_NOT_VALID, VerificationFailure.NOT_SIGNED)
"""The doubts that the list of keys explains."""


class MainBranch:
    """The head of main as the base of the agent's commits, and what a refused push means for it."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def base(self) -> str:
        """Return main's head as last fetched; fetched now where it never was."""
        branch = self._mirror.settings.branch
        tracked = self._mirror.tracked()
        if branch not in tracked:
            tracked = self._mirror.follow(self._mirror.remote_branches())
        if branch not in tracked:
            raise self._mirror.explain_missing()
        return self._verified(tracked[branch])

    def again(self, base: str) -> str:
        """Return the new base after a refused push; raises where another attempt is useless."""
        branch = self._mirror.settings.branch
        now = self._mirror.follow(self._mirror.remote_branches()).get(branch)
        if now is None:
            raise self._mirror.explain_missing()
        if not self._mirror.is_ancestor(base, now):
            raise RemoteMoved(f"the history of {branch} was rewritten while committing to it")
        return self._verified(now)

    def demand_vouched(self, commit: str) -> None:
        """Refuse to push a commit of ours that would not be verified: nothing after it would be read any more.

        A program that fails may say that a signature is bad, and a list has either the key or not. So only what is
        said of the key twice is about the key; anything else is a failure of this machine: ``OwnCommitNotChecked``.
        """
        branch = self._mirror.settings.branch
        doubt = self._doubt_of(commit) and self._doubt_of(commit)
        if doubt in _OF_THE_KEY:
            raise PushRefused(
                f"the agent's own commit on {branch} would not be verified; "
                "list the public key of --signing-key by --verify-signers"
            )
        if doubt is not None:
            raise OwnCommitNotChecked(
                f"the agent's own commit for {branch} is not pushed: its signature cannot be checked ({doubt}), "
                "because ssh-keygen fails; it is tried again"
            )

    def _doubt_of(self, commit: str) -> VerificationFailure | None:
        """Do as the mirror says, which checks only so many commits at once: those of one push are all the agent's
        own.
        """
        while (doubt := self._mirror.doubt_of(commit)) is VerificationFailure.PENDING:
            pass  # what was checked stays so
        return doubt

    def _verified(self, head: str) -> str:
        """Return a commit on top of one that is not verified would have to be rewritten with it."""
        if self._mirror.doubt_of(head) is not None:
            raise RemoteMoved(f"{self._mirror.settings.branch} has commits that are not verified: see SourceVerified")
        return head


Edit = Callable[[bytes], bytes | None]
"""Maps the present content of a file to the new one; None deletes the file.

May raise `InvalidInput`. Called once for each attempt.
"""

EditOrNew = Edit | bytes
"""An edit of a file, or the content of a new one."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The result of edits. ``commit`` is the new commit, or main's head where nothing changed.

    ``paths`` are the files that it changed.
    """

    commit: str
    changed: bool
    paths: frozenset[str] = frozenset()


class Edits:
    """Edits files of main."""

    def __init__(self, mirror: Mirror, files: Files, committer: Committer, pusher: Pusher) -> None:
        self._mirror = mirror
        self._branch = mirror.settings.branch
        self.lock = mirror.lock
        self._files = files
        self._committer = committer
        self._pusher = pusher
        self._trunk = MainBranch(mirror)

    @locked
    def commit(self, edits: Mapping[str, EditOrNew], message: str, requester: Requester | None = None) -> Edited:
        """Make one commit with all edits, by path; none where nothing changes. ``requester`` is its author, where that
        is not who commits.

        Raises ``InvalidInput`` for a file that is missing, exists already, or cannot be edited, ``PushRefused`` where
        main refuses the push, ``RemoteMoved``, and the errors of an unreachable remote.
        """
        base = self._trunk.base()
        attempts = self._pusher.attempts()
        for _ in attempts:
            changed = self.changed(edits, base)
            if not changed:
                return Edited(base, changed=False)
            [commit] = self._committer.build([CommitDraft(base, changed, message, requester=requester)])
            self._trunk.demand_vouched(commit)
            answer = self._pusher.push([Update(self._branch, base, commit)])
            if answer.verdicts[self._branch] is PushVerdict.TAKEN:
                return Edited(commit, changed=True, paths=frozenset(changed))
            attempts.judge(answer)
            base = self._trunk.again(base)
        raise attempts.given_up()

    @locked
    def offer(self, name: str, edits: Mapping[str, EditOrNew], message: str, requester: Requester | None) -> Edited:
        """Put all edits of main on a branch, as one commit in place of what it had: for a person who merges it. Raises
        as `commit`.
        """
        attempts = self._pusher.attempts()
        for _ in attempts:
            base = self._trunk.base()
            changed = self.changed(edits, base)
            if not changed:
                return Edited(base, changed=False)
            [commit] = self._committer.build([CommitDraft(base, changed, message, requester=requester)])
            answer = self._pusher.push([Update(name, self._mirror.asked_head(name), commit)])
            if answer.verdicts[name] is PushVerdict.TAKEN:
                return Edited(commit, changed=True, paths=frozenset(changed))
            attempts.judge(answer)
        raise attempts.given_up()

    @locked
    def withdraw(self, name: str, commit: str) -> None:
        """Delete such a branch, which has ``commit``, after its merge; one that somebody changed stays."""
        self._pusher.push([Update(name, commit, None)])

    @locked
    def changed(self, edits: Mapping[str, EditOrNew], base: str) -> dict[str, bytes | None]:
        """Return the files that the edits change at a commit, with their new content; None: it is deleted. Raises
        ``InvalidInput`` as `commit`.
        """
        changed: dict[str, bytes | None] = {}
        for path, edit in edits.items():
            if isinstance(edit, bytes):
                changed |= self._new(path, edit, base)
                continue
            before = self._content(path, base)
            after = edit(before)
            if after != before:
                changed[path] = after
        return changed

    def _new(self, path: str, content: bytes, base: str) -> dict[str, bytes | None]:
        """Return a new file; nothing where somebody has created the same one."""
        there = self._files.at(path, base)
        if there is not None and there.content != content:
            remedy = "look at it, and run the command again"
            raise InvalidInput(Problem(path, f"is on {self._branch} already", remedy=remedy))
        return {} if there else {path: content}

    def _content(self, path: str, base: str) -> bytes:
        file = self._files.at(path, base)
        if file is None:
            raise InvalidInput(Problem(path, f"is not on {self._branch}", remedy="push it first"))
        if isinstance(file.content, Problem):
            raise InvalidInput(file.content)
        return file.content

"""Commits people's edits of files to main, for the command line. Knows no file's meaning: an edit is a function.

An edit applies to the content of main at the time of the push; where main moved, it is applied again to the new content
(never rebased or merged), so that no change is lost.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.git.lock import locked
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.push import Pusher, PushVerdict, Update
from gitops_bg.repo.read.files import Files
from gitops_bg.repo.read.main_branch import MainBranch
from gitops_bg.repo.write.commits import CommitDraft, Committer

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
        self._branch = mirror.settings.branch
        self.lock = mirror.lock
        self._files = files
        self._committer = committer
        self._pusher = pusher
        self._trunk = MainBranch(mirror)

    @locked
    def commit(self, edits: Mapping[str, EditOrNew], message: str) -> Edited:
        """Make one commit with all edits, by path; none where nothing changes.

        Raises ``InvalidInput`` for a file that is missing, exists already, or cannot be edited, ``PushRefused`` where
        main refuses the push, ``RemoteMoved``, and the errors of an unreachable remote.
        """
        base = self._trunk.base()
        attempts = self._pusher.attempts()
        for _ in attempts:
            changed = self.changed(edits, base)
            if not changed:
                return Edited(base, changed=False)
            [commit] = self._committer.build([CommitDraft(base, changed, message)])
            self._trunk.demand_vouched(commit)
            answer = self._pusher.push([Update(self._branch, base, commit)])
            if answer.verdicts[self._branch] is PushVerdict.TAKEN:
                return Edited(commit, changed=True, paths=frozenset(changed))
            attempts.judge(answer)
            base = self._trunk.again(base)
        raise attempts.given_up()

    @locked
    def changed(self, edits: Mapping[str, EditOrNew], base: str) -> dict[str, bytes | None]:
        """The files that the edits change at a commit, with their new content; None: it is deleted. Raises
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
        """A new file; nothing where somebody has created the same one."""
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

"""The effective content of ``policies/``, and its changes in the ledger: one entry for each commit of main that changed
it, once for the repository, not once for each app that a policy matches. Test cases, the library and other files of the
folder have no effect.

Level-triggered: it compares main with the state branch, so nothing is lost while no agent runs, and nothing is recorded
twice, whoever writes: after a refused push it starts again from what others wrote.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import islice
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InvalidInput
from gitops_bg.core.foreign_json import UNIQUE, NotJson, read_json
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.core.model.record import Event
from gitops_bg.repo.git.directory import locked
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.ledger.ledger_file import POLICIES
from gitops_bg.repo.ledger.state_branch import LedgerWrite, StateBranch, View
from gitops_bg.repo.read.changes import Trees
from gitops_bg.repo.read.files import Files
from gitops_bg.repo.read.history import Details, changes_of
from gitops_bg.repo.read.mainline import Mainline
from gitops_bg.repo.write.commits import mark
from gitops_bg.spec.app.layout import PEOPLE_FILE, POLICIES_FOLDER, SETTINGS_FILE, SIGNERS_FILE
from gitops_bg.spec.app.settings import read_settings
from gitops_bg.spec.codec import from_json, to_json
from gitops_bg.spec.policies.load import PolicyFolder, is_policy_file, load_policies

File = bytes | Problem


@dataclass(frozen=True, slots=True)
class PoliciesAt:
    """The effective files, by path, at one commit of main, and the policies that its settings require."""

    files: Mapping[str, File] = field(default_factory=dict)
    required: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A digest of all of it; empty where there is nothing."""
        if not self.files and not self.required:
            return ""
        texts = {path: _hash(content) for path, content in self.files.items()}
        value = json.dumps([texts, self.required], sort_keys=True)
        return f"v1:{hashlib.sha256(value.encode()).hexdigest()}"


def policies_at(files: Mapping[str, File], settings: File | None) -> PoliciesAt:
    """Return the state at a commit, from all files below ``policies/`` and ``gitops-bg.yaml``."""
    decides = {path: files[path] for path in sorted(files) if _decides(path)}
    read = read_settings(settings, SETTINGS_FILE)[0] if isinstance(settings, bytes) else None
    return PoliciesAt(decides, tuple(sorted(set(read.require or ()))) if read else ())


def _decides(path: str) -> bool:
    return path in (PEOPLE_FILE, SIGNERS_FILE) or is_policy_file(path)


def differences(before: PoliciesAt, after: PoliciesAt) -> tuple[str, ...]:
    """Return one phrase for each policy that differs, and for people, signers and requirements: ``calm changed``."""
    folders = load_policies(before.files), load_policies(after.files)
    return (*_of_policies(*folders), *_of_broken(*folders), *_of_the_rest(before, after))


def _of_policies(before: PolicyFolder, after: PolicyFolder) -> Iterator[str]:
    old, new = _by_name(before), _by_name(after)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name} {'changed' if name in old and name in new else 'added' if name in new else 'removed'}"


def _by_name(folder: PolicyFolder) -> dict[str, Policy]:
    """Return the policies of all readable files; those of a broken file are unknown."""
    return {each.policy.name: each.policy for each in folder.written}


def _of_broken(before: PolicyFolder, after: PolicyFolder) -> Iterator[str]:
    for path, file in after.files.items():
        if file.problems and not (path in before.files and before.files[path].problems):
            yield f"{path} cannot be read"


def _of_the_rest(before: PoliciesAt, after: PoliciesAt) -> Iterator[str]:
    for path, name in ((PEOPLE_FILE, "people"), (SIGNERS_FILE, "allowed_signers")):
        if before.files.get(path) != after.files.get(path):
            yield f"{name} changed"
    if before.required != after.required:
        yield f"required: {', '.join(after.required) or 'none'}"


def _hash(content: File) -> str:
    data = str(content).encode() if isinstance(content, Problem) else content
    return hashlib.sha256(data).hexdigest()


# --- ``policies.json`` of the state branch: pure data, no Git ---

KEPT = 500
"""How many changes the file keeps; the older ones are in the log of the state branch."""
_MOST_IN_SUBJECT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """One commit of main that changed policies. Times are UTC."""

    at: datetime | None = None
    """The date of the commit."""
    commit: str = ""
    by: str = ""
    """The author of the commit; for a merge, the person who merged."""
    before: str = ""
    """The digest of the policies before it; empty where there were none."""
    after: str = ""
    changed: tuple[str, ...] = ()
    """A phrase for each policy that changed: ``freeze added``."""


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """The whole file. ``history`` is oldest first."""

    commit: str = ""
    """The last commit of main that it covers."""
    digest: str = ""
    """The digest of the policies at that commit."""
    history: tuple[PolicyChange, ...] = ()

    def taking(self, changes: tuple[PolicyChange, ...], commit: str) -> "PolicyDocument":
        """Return the file with these changes, oldest first, covering main up to ``commit``."""
        digest = changes[-1].after if changes else self.digest
        return replace(self, commit=commit, digest=digest, history=(*self.history, *changes)[-KEPT:])


def render(document: PolicyDocument) -> bytes:
    """Return the text of the file."""
    value = {
        "commit": document.commit,
        "digest": document.digest,
        "history": [to_json(each) for each in document.history],
    }
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode(errors="replace")


def parse(text: bytes) -> PolicyDocument:
    """Parse the text of the file. Raises ``ValueError`` for one that is not ours: others can write to the
    state branch.
    """
    try:
        value: Mapping[str, Any] = read_json(text, UNIQUE)
        return from_json(PolicyDocument, {"commit": "", "digest": "", "history": [], **value})
    except (TypeError, AttributeError, NotJson, InvalidInput) as error:
        raise ValueError(f"not a file of the ledger: {error}") from error


def message(changes: tuple[PolicyChange, ...], cluster: str) -> str:
    """Return the message of the ledger commit: a subject for people, a block of trailers for each change."""
    phrases = [phrase for change in changes for phrase in change.changed]
    shown = ", ".join(phrases[:_MOST_IN_SUBJECT]) + (" …" if len(phrases) > _MOST_IN_SUBJECT else "")
    lines = [line for change in changes for line in _trailers(change)]
    return (
        f"policies: {one_line(shown) or 'changed'} [{one_line(cluster)}]\n\n" + "\n".join(lines) + "\n" + mark(cluster)
    )


def _trailers(change: PolicyChange) -> list[str]:
    values = [
        ("Bg-Event", Event.POLICY_CHANGED),
        ("Bg-From", change.before),
        ("Bg-To", change.after),
        ("Bg-Commit", change.commit),
        ("Bg-By", change.by),
        ("Bg-Reason", ", ".join(change.changed)),
    ]
    return [f"{name}: {text}" for name, value in values if (text := one_line(value))]


# --- what main changed ---

_PATHS = (POLICIES_FOLDER, SETTINGS_FILE)
_MOST = 100
"""How many commits are recorded one by one at a time; of more, the oldest are recorded as one change."""


class PolicyLog:
    """The file of the state branch."""

    def __init__(
        self, mirror: Mirror, trees: Trees, files: Files, mainline: Mainline, details: Details, branch: StateBranch
    ) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._trees = trees
        self._files = files
        self._mainline = mainline
        self._details = details
        self._branch = branch
        self._told: tuple[str, ...] | None = None
        """The ids of the content at `_PATHS` when the ledger was last known to be complete."""

    @locked
    def publish(self, head: str) -> bool:
        """Record main's changes of policies up to ``head``; return whether there were any.

        Costs nothing where ``policies/`` is unchanged. May be called again after any failure. Raises as
        `StateBranch.write`.
        """
        there = self._trees.at(head, _PATHS)
        ids = tuple(there[path].id if path in there else "" for path in _PATHS)
        if ids == self._told:
            return False
        changes: tuple[PolicyChange, ...] = ()

        def compose(view: View) -> LedgerWrite | None:
            nonlocal changes
            document = self._at(view.own)
            changes = tuple(self._changes(document, head))
            written = {POLICIES: render(document.taking(changes, head))}
            return LedgerWrite(written, message(changes, self._branch.cluster)) if changes else None

        self._branch.write(compose)
        self._told = ids
        return bool(changes)

    @locked
    def changes(self) -> Sequence[PolicyChange]:
        """Return the changes of policies in the ledger of this cluster, newest first."""
        return self.document().history[::-1]

    def document(self) -> PolicyDocument:
        """Return the file as the agent itself wrote it last; an empty one if it is missing or damaged."""
        return self._at(self._branch.seen().own)

    @locked
    def doubt(self) -> str:
        """Return why the file, as it stands, is not believed; empty where it is."""
        foreign = self._branch.seen().foreign.get(POLICIES)
        return f"{POLICIES}: {foreign.why}" if foreign else ""

    def _at(self, commit: str) -> PolicyDocument:
        file = self._files.at(POLICIES, commit) if commit else None
        if file is None or isinstance(file.content, Problem):
            return PolicyDocument()
        try:
            return parse(file.content)
        except ValueError:
            return PolicyDocument()

    def _changes(self, document: PolicyDocument, head: str) -> Iterator[PolicyChange]:
        """Yield the changes since the file was written, oldest first."""
        now = self.at(head)
        if now.digest == document.digest:
            return
        before = self._known(document)
        for commit in reversed(self._commits_since(document.commit, head)):
            after = self.at(commit)
            if after.digest != before.digest:
                yield self._change(commit, before, after)
                before = after

    def _known(self, document: PolicyDocument) -> PoliciesAt:
        """Return the policies that the file last recorded; none where main no longer has that commit."""
        if not document.commit or not self._mirror.has(document.commit):
            return PoliciesAt()
        return self.at(document.commit)

    def _commits_since(self, known: str, head: str) -> list[str]:
        """Return the commits of main's line that changed policies after ``known``, newest first.

        If the line does not have ``known``, because nothing is recorded or main was rewritten: only the last commit.
        """
        place = self._mainline.place(known, head)
        if place is None:
            return list(islice(changes_of(self._mirror, self._mainline.steps(head), *_PATHS, top=True), 1))
        found = list(changes_of(self._mirror, self._mainline.steps(head, after=place), *_PATHS, top=True))
        return found if len(found) <= _MOST else found[:_MOST]

    @locked
    def at(self, commit: str) -> PoliciesAt:
        """Return the policies at a commit, with people and signers."""
        files = {path: file.content for path, file in self._files.below(POLICIES_FOLDER, commit).items()}
        signers, settings = self._files.at(SIGNERS_FILE, commit), self._files.at(SETTINGS_FILE, commit)
        if signers is not None:
            files[SIGNERS_FILE] = signers.content
        return policies_at(files, settings.content if settings else None)

    def _change(self, commit: str, before: PoliciesAt, after: PoliciesAt) -> PolicyChange:
        try:
            said = differences(before, after)
        except GitopsBgError as error:
            said = (f"nobody can tell what changed: {error}",)
        made = self._details.of([commit])[commit]
        return PolicyChange(
            at=made.date, commit=commit, by=made.author, before=before.digest, after=after.digest, changed=said
        )

"""The agent's own commits: what they say, how they are built without a work tree, by one `git fast-import` for a whole
chain, signed afterwards if configured; and whether its keys vouch for them.

A message has a subject for people, a reason, and trailers for machines; no foreign text can forge a trailer. Building
knows paths and contents; not apps, branches or pushes. Nothing here moves a branch.
"""

import hashlib
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar
from uuid import uuid4

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InvalidInput, Transient
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.events import EVENTS
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import AppOrGroup, ReleaseId, SubjectKind, version_name
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text
from gitops_bg.repo.git.runner import Finished, GitFailed
from gitops_bg.repo.read.main_verifier import SIGNERS, MainVerifier
from gitops_bg.repo.read.signatures import Signature
from gitops_bg.repo.settings import AGENT, RepositorySettings, VerificationSettings

_BUILD_REF = "refs/gitops-bg/build"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """A person who asks this process for a commit: its author. The committer is who pushes it."""

    name: str
    email: str
    subject: str = ""
    """Who they are for the one who vouches for it."""
    via: str = ""
    """By what they asked."""

    def __str__(self) -> str:
        return f"{_plain(self.name)} <{_plain(self.email)}>"

    @property
    def trailers(self) -> tuple[tuple[str, str], ...]:
        """What commits say of the request, besides who and why."""
        return ("Bg-Subject", self.subject), ("Bg-Via", self.via)


@dataclass(frozen=True, slots=True)
class CommitDraft:
    """A commit to build: the files that differ from its parent (None removes a file), and its message.

    ``parent`` is a commit id, the number of an earlier draft of the same call, or None for a root commit.
    """

    parent: str | int | None
    files: Mapping[str, bytes | None]
    message: str
    anew: bool = False
    """Whether it has these files only, and none of its parent's."""
    requester: Requester | None = None
    """Its author, where that is not who commits."""


class Committer:
    """Builds commits in the mirror's object store."""

    def __init__(self, mirror: Mirror, clock: Callable[[], datetime]) -> None:
        self._mirror = mirror
        self._clock = clock
        self._agent = AGENT
        self._names = {_identity(AGENT)}

    @property
    def names(self) -> frozenset[str]:
        """The names, ``name <email>``, under which agents commit: those of the settings since the start, and the one
        that all have at first. A person's is none of them.
        """
        return frozenset(self._names)

    def agent_is(self, name: str, email: str) -> None:
        """Set the name of the agent; later commits have it, unless a person makes them."""
        self._agent = (_plain(name), _plain(email))
        self._names.add(_identity(self._agent))

    @property
    def _committer(self) -> tuple[str, str]:
        name, email = self._mirror.settings.author or self._agent
        return _plain(name), _plain(email)

    def build(self, drafts: Sequence[CommitDraft]) -> list[str]:
        """Build the commits, in order, and return their ids. The caller leaves out drafts that change nothing."""
        if not drafts:
            return []
        when = f"{int(self._clock().timestamp())} +0000"
        stream = b"".join(
            _commit(number, draft, *(f"{_identity(who)} {when}" for who in (self._author_of(draft), self._committer)))
            for number, draft in enumerate(drafts)
        )
        answer = self._mirror.local("fast-import", "--quiet", "--force", "--done", stdin=stream + b"done\n")
        commits = [text(commit) for commit in lines(answer)]
        return self._signed(commits, drafts) if self._mirror.settings.signing_key is not None else commits

    def _author_of(self, draft: CommitDraft) -> tuple[str, str]:
        by = draft.requester
        return (_plain(by.name), _plain(by.email)) if by is not None else self._committer

    def _signed(self, commits: list[str], drafts: Sequence[CommitDraft]) -> list[str]:
        """Return the commits with a signature each; one process for each commit, because fast-import cannot sign."""
        signed: list[str] = []
        for commit, draft in zip(commits, drafts, strict=True):
            parent = signed[draft.parent] if isinstance(draft.parent, int) else draft.parent
            arguments = ("-p", parent) if parent is not None else ()
            finished = self._mirror.git.attempt(
                "commit-tree", "-S", f"{commit}^{{tree}}", *arguments,
                stdin=draft.message.encode(), environment=self._identity_environment(draft),
            )  # fmt: skip
            if finished.status != 0:
                raise self._cannot_sign(finished)
            signed.append(text(finished.output.strip()))
        return signed

    def _cannot_sign(self, finished: Finished) -> Exception:
        key = self._mirror.settings.signing_key
        words = ("ssh-keygen", "sign", "load public key")
        if key is not None and key.is_file() and not any(word in finished.complaint for word in words):
            return self._mirror.broken(GitFailed("commit-tree", finished))
        remedy = "give an SSH key without a passphrase, or load it into your ssh agent and give its .pub file"
        return InvalidInput(Problem("--signing-key", f"{key} cannot sign: {finished.summary}", remedy=remedy))

    def _identity_environment(self, draft: CommitDraft) -> dict[str, str]:
        seconds = int(self._clock().timestamp())
        return {
            f"GIT_{who}_{what}": value
            for who, (name, mail) in (("AUTHOR", self._author_of(draft)), ("COMMITTER", self._committer))
            for what, value in (("NAME", name), ("EMAIL", mail), ("DATE", f"@{seconds} +0000"))
        }


def _identity(author: tuple[str, str]) -> str:
    name, email = author
    return f"{name} <{email}>"


def blob_id(content: bytes, like: str) -> str:
    """Return the object id that git gives to this content, in the hash algorithm of the id ``like``."""
    algorithm = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return algorithm(b"blob %d\0" % len(content) + content).hexdigest()


def _commit(number: int, draft: CommitDraft, author: str, committer: str) -> bytes:
    message = draft.message.encode()
    start = b"" if draft.parent is not None else f"reset {_BUILD_REF}\n\n".encode()
    parts = [
        start,
        f"commit {_BUILD_REF}\nmark :{number + 1}\nauthor {author}\ncommitter {committer}\n".encode(),
        b"data %d\n%s\n" % (len(message), message),
    ]
    if draft.parent is not None:
        parent = f":{draft.parent + 1}" if isinstance(draft.parent, int) else draft.parent
        parts.append(f"from {parent}\n".encode())
    if draft.anew:
        parts.append(b"deleteall\n")
    for path, content in sorted(draft.files.items()):
        if content is None:
            parts.append(f"D {path}\n".encode())
        else:
            parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content))
    # The id comes back on standard output: a file of marks would be left behind by an agent that is killed meanwhile.
    parts.append(f"get-mark :{number + 1}\n".encode())
    return b"".join(parts)


def _plain(text: str) -> str:
    """Return a name or mail address that cannot break out of its field in a commit."""
    return one_line(text).translate(str.maketrans("", "", "<>"))


_OPTION = "--signing-key"


class KeyNotTried(Transient):
    """The agent's own signature does not hold at present: nothing can be said of others that should be its own."""

    reason = "KeyNotTried"


class OwnKey:
    """The key that signs the agent's commits, as the present files of keys see it: tried before the agent begins, and
    wherever a commit that should be its own seems not to be.
    """

    def __init__(self, committer: Committer, verifier: MainVerifier, settings: RepositorySettings) -> None:
        self._committer = committer
        self._verifier = verifier
        self._settings = settings
        self._known = ("", "")

    def demand(self) -> None:
        """Raise ``InvalidInput`` where the agent's own commits would not be verified, or cannot be signed."""
        key, verification = self._settings.signing_key, self._settings.verification or VerificationSettings()
        if key is None:
            remedy = (
                f"give an SSH key without a passphrase (ssh-keygen -t ed25519), and list its public key by {SIGNERS}"
            )
            raise InvalidInput(
                Problem(_OPTION, "is needed: the agent's own commits on main have to be verified", remedy=remedy)
            )
        commit = self._signed()
        signature = self._verifier.check([commit])[commit]
        if signature.doubt is not None:
            listed = str(verification.signers_file) if verification.signers_file else f"the file that {SIGNERS} names"
            message = f"{key} signs commits that are not verified: {signature.doubt}"
            raise InvalidInput(
                Problem(
                    _OPTION,
                    message,
                    remedy=f"add this line to {listed}: {(self._settings.author or AGENT)[0]} {_public(key)}",
                )
            )
        self._known = (self._verifier.digest, signature.principal)

    def principal(self) -> str:
        """Return the name under which the present keys list the agent's. Raises ``KeyNotTried``."""
        if self._known[0] != self._verifier.digest:
            self.check_together([])
        return self._known[1]

    def check_together(self, commits: Sequence[str]) -> dict[str, Signature]:
        """Return the signatures of commits, as of their dates, checked together with one that is made now and has to be
        good: so a bad one is no failure of this machine. Raises ``KeyNotTried`` and ``NoSshKeygen``.
        """
        try:
            own = self._signed()
        except GitopsBgError as error:
            raise KeyNotTried(f"the agent cannot sign: {error}") from error
        digest, found = self._verifier.digest, self._verifier.check_at_date([*commits, own])
        if found[own].doubt is not None:
            raise KeyNotTried(f"a signature that the agent made just now does not hold: {found[own].doubt}")
        self._known = (digest, found[own].principal)
        return {commit: found[commit] for commit in commits}

    def _signed(self) -> str:
        """Return a commit of no branch, which nobody has checked yet."""
        [commit] = self._committer.build([CommitDraft(None, {}, f"Try the signing key\n\n{uuid4()}\n")])
        return commit


def _public(key: Path) -> str:
    """Return the public key, to be copied into a file of signers; only a word for it where it cannot be told."""
    command = ["ssh-keygen", "-y", "-P", "", "-f", str(key)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "and its public key"
    words = text(done.stdout).split()
    return " ".join(words[:2]) if done.returncode == 0 and len(words) >= 2 else "and its public key"


Of = TypeVar("Of", bound=AppOrGroup)
About_co = TypeVar("About_co", bound=AppOrGroup, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement(Generic[About_co]):
    """One event of an app or a release group, or a request for one, as commits describe it."""

    subject: About_co
    event: Event
    from_version: int | None = None
    from_digest: str = ""
    to_version: int | None = None
    to_digest: str = ""
    from_tag: str = ""
    to_tag: str = ""
    """`Version.tag` of the two."""
    source_commit: str = ""
    """The commit that brought the template."""
    commit: str = ""
    """The commit of main that asked for it."""
    rollout: int = 0
    by: str = ""
    reason: str = ""
    approved_by: tuple[str, ...] = ()
    """Who approved it, a trailer each."""
    release: ReleaseId | None = None
    """The release that it is about, or that its version serves."""
    environment: str = ""
    """The environment that the release comes into."""
    skipped: tuple[str, ...] = ()
    """The environments that it passes by, a trailer each."""
    overrides: tuple[str, ...] = ()
    """The policies in spite of which it is requested (policies.md §6)."""
    requester: Requester | None = None
    """Who asked this process for it, where that is not who commits."""


MARK = "Bg-Ledger"
"""The trailer of every commit of a ledger, with its cluster: nothing else that the agent signs has it, and none of
another cluster's ledger has this one.
"""
_OF = {SubjectKind.APP: "Bg-App", SubjectKind.GROUP: "Bg-Group"}
_MOST_IN_SUBJECT = 3
_LONGEST_TITLE = 72
"""Of a batch, without the cluster: `git log --oneline` and the pages of forges show about as much."""


def of_entry(subject: Of, entry: LedgerEntry) -> Movement[Of]:
    """Return a ledger entry as a movement."""
    return Movement(
        subject=subject,
        event=entry.event,
        from_version=entry.from_version,
        from_digest=entry.from_digest,
        to_version=entry.to_version,
        to_digest=entry.to_digest,
        from_tag=entry.from_tag,
        to_tag=entry.to_tag,
        source_commit=entry.source_commit,
        commit=entry.commit,
        rollout=entry.rollout,
        by=entry.by,
        reason=entry.reason,
        approved_by=entry.approved_by,
        release=entry.release,
    )


def asking(movement: Movement[Of], cluster: str, changes: Sequence[object] = ()) -> str:
    """Return the message of a commit that changes ``primary.yaml`` or ``group.yaml``: it asks, traffic follows.

    ``changes`` of configuration get a line each.
    """
    return _message(movement, EVENTS[movement.event].asks or EVENTS[movement.event].verb, cluster, changes)


def ledger_message(movements: Sequence[Movement[Of]], cluster: str, anew: Sequence[object] = ()) -> str:
    """Return the message of a ledger commit: one event, or several, each with its own line and block of trailers.

    ``anew`` lists, a line each, the files that somebody had damaged.
    """
    damaged = "\n".join(f"Written anew: {one_line(str(each))}" for each in anew)
    if len(movements) == 1:
        return _message(movements[0], EVENTS[movements[0].event].verb, cluster, said=damaged) + mark(cluster)
    if not movements:
        return "\n\n".join(filter(None, [f"state [{one_line(cluster)}]", damaged, mark(cluster)]))
    subject = f"{_many(movements)} [{one_line(cluster)}]"
    lines = [f"{each.subject.namespace}/{_sentence(each, EVENTS[each.event].verb)}" for each in movements]
    blocks = [line for movement in movements for line in trailers(movement)]
    return "\n\n".join(filter(None, [subject, "\n".join(lines), damaged, "\n".join(blocks)])) + "\n" + mark(cluster)


def mark(cluster: str) -> str:
    """Return the last trailer of a commit of a ledger."""
    return f"{MARK}: {one_line(cluster)}\n"


def _many(movements: Sequence[Movement[Of]]) -> str:
    """Return all sentences where they are few and about one, so that `git log --oneline` shows them; else their number
    and the names, as many as fit in a title.
    """
    about = list(dict.fromkeys(movement.subject for movement in movements))
    if len(about) > 1 or len(movements) > _MOST_IN_SUBJECT:
        return title_of_batch(len(movements), about)
    first, *others = (_sentence(movement, EVENTS[movement.event].verb) for movement in movements)
    return ", ".join([first, *(other.removeprefix(f"{movements[0].subject.name}: ") for other in others)])


def title_of_batch(events: int, subjects: Sequence[AppOrGroup]) -> str:
    """Return how many events, and of which apps or groups: as many names as fit in a title, at least one.

    >>> from gitops_bg.core.model.version import AppKey
    >>> title_of_batch(3, [AppKey("shop", "web"), AppKey("shop", "api")])
    '3 events of web, api'
    """
    counts = Counter(subject.name for subject in subjects)
    names = [subject.name if counts[subject.name] == 1 else str(subject) for subject in subjects]
    most = min(len(names), _LONGEST_TITLE)  # thousands of apps may move in one commit
    titles = [_title(events, names[:shown], len(names) - shown) for shown in range(most, 0, -1)]
    return next((title for title in titles if len(title) <= _LONGEST_TITLE), titles[-1])


def _title(events: int, names: Sequence[str], more: int) -> str:
    return f"{events} events of {', '.join(names)}" + (f" and {more} more" if more else "")


def trailers(movement: Movement[Of]) -> list[str]:
    """Return the trailers of one movement; the block begins with what it is about, and every value is one line."""
    values: list[tuple[str, str]] = [
        (_OF[movement.subject.kind], str(movement.subject)),
        ("Bg-Event", movement.event),
        ("Bg-From", _version(movement.from_version, movement.from_digest)),
        ("Bg-To", _version(movement.to_version, movement.to_digest)),
        ("Bg-Release", str(movement.release or "")),
        ("Bg-Environment", movement.environment),
        *(("Bg-Skipped", each) for each in movement.skipped),
        ("Bg-Source-Commit", movement.source_commit),
        ("Bg-Commit", movement.commit),
        ("Bg-Rollout", str(movement.rollout) if movement.rollout else ""),
        ("Bg-By", movement.by),
        *(movement.requester.trailers if movement.requester is not None else ()),
        *(("Bg-Approved-By", each) for each in movement.approved_by),
        ("Bg-Reason", movement.reason),
        *(("Bg-Override", each) for each in movement.overrides),
    ]
    return [f"{name}: {text}" for name, value in values if (text := one_line(value))]


def _message(movement: Movement[Of], verb: str, cluster: str, changes: Sequence[object] = (), said: str = "") -> str:
    where = f" [{one_line(cluster)}]" if cluster else ""
    parts = [f"{_sentence(movement, verb)}{where}"]
    reason = one_line(movement.reason)
    if reason:
        # "Reason:" keeps the text from the start of a line, where it could pass for a revert's marker.
        parts.append(f"Reason: {reason}")
    if changes:
        parts.append("\n".join(["Configuration:", *(f"- {one_line(str(change))}" for change in changes)]))
    if said:
        parts.append(said)
    return "\n\n".join([*parts, "\n".join(trailers(movement))]) + "\n"


def _sentence(movement: Movement[Of], verb: str) -> str:
    return f"{movement.subject.name}: {verb} {_span(movement)}".rstrip()


def _span(movement: Movement[Of]) -> str:
    """Return from which version to which, or which release where; empty without any version."""
    if movement.environment and movement.release is not None:
        return f"{movement.release.name} in {one_line(movement.environment)}"
    origin = version_name(movement.from_version, movement.from_digest, movement.from_tag)
    goal = version_name(movement.to_version, movement.to_digest, movement.to_tag)
    return one_line(" → ".join(filter(None, (origin, goal))))


def _version(version: int | None, digest: str) -> str:
    return " ".join(filter(None, (f"v{version}" if version else "", digest)))

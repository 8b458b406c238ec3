"""The agent's own commits: built without a work tree, by one `git fast-import` for a whole chain, signed afterwards if
configured; and whether its keys vouch for them.

It knows paths, contents and messages; not apps, branches or pushes. Nothing here moves a branch.
"""

import hashlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from gitops_bg.core.errors import GitopsBgError, InvalidInput, Transient
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text
from gitops_bg.repo.git.runner import Finished, GitFailed
from gitops_bg.repo.settings import AGENT, RepositorySettings, VerificationSettings
from gitops_bg.repo.verification.key_files import SIGNERS
from gitops_bg.repo.verification.main_verifier import MainVerifier
from gitops_bg.repo.verification.signatures import Signature

_BUILD_REF = "refs/gitops-bg/build"


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
    def _author(self) -> tuple[str, str]:
        name, email = self._mirror.settings.author or self._agent
        return _plain(name), _plain(email)

    def build(self, drafts: Sequence[CommitDraft]) -> list[str]:
        """Build the commits, in order, and return their ids. The caller leaves out drafts that change nothing."""
        if not drafts:
            return []
        stamp = f"{self._identity()} {int(self._clock().timestamp())} +0000"
        stream = b"".join(_commit(number, draft, stamp) for number, draft in enumerate(drafts))
        answer = self._mirror.local("fast-import", "--quiet", "--force", "--done", stdin=stream + b"done\n")
        commits = [text(commit) for commit in lines(answer)]
        return self._signed(commits, drafts) if self._mirror.settings.signing_key is not None else commits

    def _identity(self) -> str:
        return _identity(self._author)

    def _signed(self, commits: list[str], drafts: Sequence[CommitDraft]) -> list[str]:
        """Return the commits with a signature each; one process for each commit, because fast-import cannot sign."""
        signed: list[str] = []
        environment = self._identity_environment()
        for commit, draft in zip(commits, drafts, strict=True):
            parent = signed[draft.parent] if isinstance(draft.parent, int) else draft.parent
            arguments = ("-p", parent) if parent is not None else ()
            finished = self._mirror.git.attempt(
                "commit-tree", "-S", f"{commit}^{{tree}}", *arguments,
                stdin=draft.message.encode(), environment=environment,
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

    def _identity_environment(self) -> dict[str, str]:
        seconds, (name, mail) = int(self._clock().timestamp()), self._author
        return {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", name), ("EMAIL", mail), ("DATE", f"@{seconds} +0000"))
        }


def _identity(author: tuple[str, str]) -> str:
    name, email = author
    return f"{name} <{email}>"


def blob_id(content: bytes, like: str) -> str:
    """The object id that git gives to this content, in the hash algorithm of the id ``like``."""
    algorithm = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return algorithm(b"blob %d\0" % len(content) + content).hexdigest()


def _commit(number: int, draft: CommitDraft, stamp: str) -> bytes:
    message = draft.message.encode()
    start = b"" if draft.parent is not None else f"reset {_BUILD_REF}\n\n".encode()
    parts = [
        start,
        f"commit {_BUILD_REF}\nmark :{number + 1}\nauthor {stamp}\ncommitter {stamp}\n".encode(),
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
    """A name or mail address that cannot break out of its field in a commit."""
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
        """The name under which the present keys list the agent's. Raises ``KeyNotTried``."""
        if self._known[0] != self._verifier.digest:
            self.check_no_scaler([])
        return self._known[1]

    def check_no_scaler(self, commits: Sequence[str]) -> dict[str, Signature]:
        """The signatures of commits, as of their dates, checked together with one that is made now and has to be good:
        so a bad one is no failure of this machine. Raises ``KeyNotTried`` and ``NoSshKeygen``.
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
        """A commit of no branch, which nobody has checked yet."""
        [commit] = self._committer.build([CommitDraft(None, {}, f"Try the signing key\n\n{uuid4()}\n")])
        return commit


def _public(key: Path) -> str:
    """The public key, to be copied into a file of signers; only a word for it where it cannot be told."""
    command = ["ssh-keygen", "-y", "-P", "", "-f", str(key)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "and its public key"
    words = text(done.stdout).split()
    return " ".join(words[:2]) if done.returncode == 0 and len(words) >= 2 else "and its public key"

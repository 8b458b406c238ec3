"""Whether the agent's own commits are verified by the keys that it was given: tried before it begins, and wherever a
commit that should be its own seems not to be.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from gitops_bg.core.errors import GitopsBgError, InvalidInput, Transient
from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.git.output import text
from gitops_bg.repo.settings import AGENT, RepositorySettings, VerificationSettings
from gitops_bg.repo.verification.key_files import SIGNERS
from gitops_bg.repo.verification.main_verifier import MainVerifier
from gitops_bg.repo.verification.signatures import Signature
from gitops_bg.repo.write.commits import Committer, Draft

_OPTION = "--signing-key"


class KeyNotTried(Transient):
    """The agent's own signature does not hold at present: nothing can be said of others that should be its own."""

    reason = "KeyNotTried"


class OwnKey:
    """The key that signs the agent's commits, as the present files of keys see it."""

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
            self.check_beside([])
        return self._known[1]

    def check_beside(self, commits: Sequence[str]) -> dict[str, Signature]:
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
        [commit] = self._committer.build([Draft(None, {}, f"Try the signing key\n\n{uuid4()}\n")])
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

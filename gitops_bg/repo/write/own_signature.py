"""Whether the agent's own commits are verified by the keys that it was given: tried before it begins."""

import subprocess
from pathlib import Path

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.git.output import text
from gitops_bg.repo.settings import RepositorySettings, VerificationSettings
from gitops_bg.repo.verification.key_files import SIGNERS
from gitops_bg.repo.verification.main_verifier import MainVerifier
from gitops_bg.repo.write.commits import Committer, Draft

_OPTION = "--signing-key"


def demand_own_signature(committer: Committer, verifier: MainVerifier, settings: RepositorySettings) -> None:
    """Sign a commit of no branch, and check it. Raises ``InvalidInput`` where it is not verified, or cannot be."""
    key, verification = settings.signing_key, settings.verification or VerificationSettings()
    if key is None:
        remedy = f"give an SSH key without a passphrase (ssh-keygen -t ed25519), and list its public key by {SIGNERS}"
        raise InvalidInput(
            Problem(_OPTION, "is needed: the agent's own commits on main have to be verified", remedy=remedy)
        )
    [commit] = committer.build([Draft(None, {}, "Try the signing key\n")])
    signature = verifier.check([commit])[commit]
    if signature.doubt is not None:
        listed = str(verification.signers_file) if verification.signers_file else f"the file that {SIGNERS} names"
        message = f"{key} signs commits that are not verified: {signature.doubt}"
        raise InvalidInput(
            Problem(_OPTION, message, remedy=f"add this line to {listed}: {settings.author_name} {_public(key)}")
        )


def _public(key: Path) -> str:
    """The public key, to be copied into a file of signers; only a word for it where it cannot be told."""
    command = ["ssh-keygen", "-y", "-P", "", "-f", str(key)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "and its public key"
    words = text(done.stdout).split()
    return " ".join(words[:2]) if done.returncode == 0 and len(words) >= 2 else "and its public key"

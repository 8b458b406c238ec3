"""Opens the repository that options name. Decides where the mirror is kept; reads no app."""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from gitops_bg.agent.observability.secrets import mask
from gitops_bg.cli.clone.user_git import repository_url
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import GitOptions, VerifyOptions
from gitops_bg.repo.git.errors import DiskProblem, MirrorInUse
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import MAIN, RepositorySettings, VerificationSettings

NO_CLUSTER = "default"
"""The name of the ledger if no option names one."""


def repository_settings(
    options: GitOptions, directory: Path, cluster: str, author: tuple[str, str] | None = None
) -> RepositorySettings:
    """Return the settings of the repository; commits have ``author``, if one is given."""
    credential_file("--git-token-file", options.git_token_file)
    return RepositorySettings(
        author=author,
        url=repository_url(options.repo),
        cluster=cluster,
        names_cluster=bool(options.cluster) or cluster != NO_CLUSTER,
        directory=directory,
        branch=options.branch or MAIN,
        username=options.git_username,
        token_file=_absolute(options.git_token_file),
        ca_file=_absolute(options.git_ca_file),
        ssh_key_file=_absolute(options.ssh_key_file),
        known_hosts_file=_absolute(options.known_hosts_file),
        signing_key=_absolute(options.signing_key),
    )


def verification_settings(git: GitOptions, verify: VerifyOptions) -> VerificationSettings | None:
    """Return the keys that the repository is verified by; None where no option names any. Reads no file.

    Raises ``UsageError`` where the agent's own commits could not be verified.
    """
    if verify.verify_signers is None and verify.verify_gpg_keys is None:
        return None
    if git.signing_key is None:
        raise UsageError(
            "--signing-key: give an SSH key without a passphrase (ssh-keygen -t ed25519 -N '' -f signing-key): the "
            "agent's own commits on main are verified, too"
        )
    if verify.verify_signers is None:
        raise UsageError(
            "--verify-signers: beside --verify-gpg-keys give a file with the public key of --signing-key, as NAME "
            "ssh-ed25519 KEY: the agent's own commits on main are verified, too"
        )
    return VerificationSettings(
        signers_file=_absolute(verify.verify_signers), gpg_keys_file=_absolute(verify.verify_gpg_keys)
    )


def mirror_directory(options: GitOptions, purpose: str) -> Path:
    """Return where the mirror lives: the folder of the option, or one in the user's cache for this repository and
    ``purpose``.
    """
    if options.state_dir is not None:
        return options.state_dir.absolute()
    key = hashlib.sha256(repository_url(options.repo).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "gitops-bg" / f"{purpose}-{key}"


def open_repository(
    options: GitOptions, stack: ExitStack, author: tuple[str, str] | None = None, *, with_ledger: bool
) -> Repository:
    """Open the repository, closed with ``stack``; ``with_ledger`` finds out which ledger is meant if no option names
    one.
    """
    directory = mirror_directory(options, "cli")
    repository = _opened(options, stack, directory, options.cluster or NO_CLUSTER, author)
    if options.cluster or not with_ledger:
        return repository
    cluster = _the_only(repository.clusters())
    if cluster == NO_CLUSTER:
        return repository
    repository.close()
    return _opened(options, stack, repository.settings.directory, cluster, author)


def _opened(
    options: GitOptions, stack: ExitStack, directory: Path, cluster: str, author: tuple[str, str] | None
) -> Repository:
    try:
        repository = Repository(repository_settings(options, directory, cluster, author))
    except (MirrorInUse, DiskProblem):
        if options.state_dir is not None:
            raise
        own = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gitops-bg-")))
        repository = Repository(repository_settings(options, own, cluster, author))
    stack.callback(repository.close)
    return repository


def _the_only(names: Sequence[str]) -> str:
    if len(names) > 1:
        raise UsageError(f"--cluster: the repository has the ledgers of {', '.join(names)}; say which")
    return names[0] if names else NO_CLUSTER


def _absolute(path: Path | None) -> Path | None:
    return path.expanduser().absolute() if path is not None else None


def credential_file(option: str, path: Path | None) -> Path | None:
    """Check and return the file of an option that names one. Its content must never be printed, in no message.

    Raises ``UsageError`` where it cannot be read.
    """
    if path is None:
        return None
    try:
        mask(path.expanduser().read_bytes())
    except OSError as error:
        raise UsageError(f"{option}: {path} cannot be read: {error.strerror}") from error
    return _absolute(path)

"""Opens the repository that options name, with what the user's own git knows of an https remote; and turns the same
options into the settings and credentials of an agent in a cluster. Reads no app, applies nothing, prints no credential.

The mirror's git is shut off from every setting of the machine, the agent's and ours. So the user's git is asked here
(`git credential`, and whom it trusts), for this one address; what it answers is written to a file that only this user
can read, and is gone with the command. The agent never does this.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar
from urllib.parse import urlsplit

from gitops_bg.agent.logs import mask
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import GitOptions, VerifyOptions
from gitops_bg.cli.repository.user_git import asked, repository_url, users_environment
from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.git.errors import AuthenticationFailed, DiskProblem, MirrorInUse
from gitops_bg.repo.git.transport import transport_for
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import MAIN, RepositorySettings, VerificationSettings

NO_CLUSTER = "default"
"""The name of the ledger if no option names one."""
Result = TypeVar("Result")
_PATIENCE = 120.0
"""Seconds that somebody may take to answer a question of git's."""


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
        environment=options.env,
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
    clusters = repository.mirror.clusters()
    if options.env and len(clusters) > 1:
        return repository  # Of which cluster of the environment, nobody said: its ledger is not asked.
    cluster = _the_only(clusters)
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


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the user's git has for an address. ``described`` is in the form of `git credential`, with the password."""

    username: str
    password: str
    described: str

    def worked(self) -> None:
        """Have git remember them, where a helper of the user does."""
        _credential("approve", self.described)

    def were_refused(self) -> None:
        """Have git forget them: the remote does not take them."""
        _credential("reject", self.described)

    def options(self, git: GitOptions, stack: ExitStack) -> GitOptions:
        """Return the options with these credentials, in a file that is deleted with ``stack``."""
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gitops-bg-")))
        file = folder / "token"
        file.touch(mode=0o600)
        file.write_text(self.password, encoding="utf-8")
        return replace(git, git_username=self.username, git_token_file=file)


def with_users_git(git: GitOptions, act: Callable[[GitOptions], Result], stack: ExitStack, *, pushes: bool) -> Result:
    """Do something with a remote as the user's git would: with whom it trusts, and, where the remote asks for them,
    with the credentials that it has. Who ``pushes`` needs them even where everybody may read.

    Raises `AuthenticationFailed`.
    """
    git = with_users_authority(replace(git, repo=repository_url(git.repo)))
    credentials = credentials_for(git) if pushes else None
    if credentials is None:
        try:
            return act(git)
        except AuthenticationFailed as error:
            credentials = None if pushes else credentials_for(git)
            if credentials is None:
                raise _without_credentials(error, git) from error
    try:
        result = act(credentials.options(git, stack))
    except AuthenticationFailed as error:
        credentials.were_refused()
        raise AuthenticationFailed(f"{error}; it does not take what your git has for it (git credential)") from error
    credentials.worked()
    return result


def _without_credentials(error: AuthenticationFailed, git: GitOptions) -> AuthenticationFailed:
    if git.git_token_file is not None or not repository_url(git.repo).startswith("https://"):
        return error
    return AuthenticationFailed(f"{error}; your git has none for it either (git credential fill)")


def credentials_for(git: GitOptions) -> Credentials | None:
    """Return what the user's git has for the remote; it may ask who is at the terminal. None: nothing, or the options
    say how to get in, or it is not by https.
    """
    url = repository_url(git.repo)
    parts = urlsplit(url)
    if git.git_token_file is not None or parts.scheme != "https":
        return None
    described = f"protocol=https\nhost={parts.netloc}\npath={parts.path.lstrip('/')}\n"
    said = _fields(_credential("fill", described))
    username, password = said.get("username", ""), said.get("password", "")
    if not password:
        return None
    mask(password)
    return Credentials(username, password, "".join(f"{key}={text}\n" for key, text in said.items()))


def with_users_authority(git: GitOptions) -> GitOptions:
    """Return the options with the certificates that the user's git trusts for the remote, where they say none."""
    url = repository_url(git.repo)
    if git.git_ca_file is not None or not url.startswith("https://"):
        return git
    file = os.environ.get("GIT_SSL_CAINFO") or asked("config", "--type=path", "--get-urlmatch", "http.sslCAInfo", url)
    return replace(git, git_ca_file=Path(file)) if file else git


def _fields(said: str) -> Mapping[str, str]:
    pairs = (line.partition("=") for line in said.splitlines())
    return {key: text for key, equals, text in pairs if equals}


def _credential(verb: str, described: str) -> str:
    """Run `git credential`; empty where it fails, or has nothing. Its words are for the terminal, not for us."""
    may_ask = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    environment = users_environment() | ({} if may_ask else {"GIT_TERMINAL_PROMPT": "0"})
    try:
        done = subprocess.run(
            ["git", "credential", verb],
            input=f"{described}\n",
            stdout=subprocess.PIPE,
            stderr=None if may_ask else subprocess.DEVNULL,
            text=True,
            timeout=_PATIENCE,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def installed_settings(git: GitOptions, verify: VerifyOptions) -> Mapping[str, str]:
    """Return the environment of an agent in a cluster for these options. Raises `UsageError` and `InvalidInput`."""
    from gitops_bg.cluster.chart import CREDENTIALS_FOLDER

    if not git.cluster:
        raise UsageError("--cluster: say what this cluster is called, such as --cluster prod: it names the ledger")
    if git.state_dir is not None:
        raise UsageError("--state-dir: leave it out; the agent in the cluster has a volume of its own for the mirror")
    verification_settings(git, verify)
    _demand_reachable(git)
    named = {
        "GITOPS_BG_REPO": repository_url(git.repo),
        "GITOPS_BG_CLUSTER": git.cluster,
        "GITOPS_BG_BRANCH": git.branch if git.branch != MAIN else "",
        "GITOPS_BG_GIT_USERNAME": git.git_username if git.git_username != GitOptions().git_username else "",
    }
    files = {variable: f"{CREDENTIALS_FOLDER}/{name}" for variable, (name, path) in _files(git, verify).items() if path}
    return {name: value for name, value in named.items() if value} | files


def installed_credentials(git: GitOptions, verify: VerifyOptions) -> Mapping[str, bytes]:
    """Return the files of the agent's Secret by name. Must never be printed. Raises `UsageError`."""
    options = {name: (_option(variable), path) for variable, (name, path) in _files(git, verify).items() if path}
    read = {name: credential_file(option, path) for name, (option, path) in options.items()}
    return {name: path.read_bytes() for name, path in read.items() if path is not None}


def _files(git: GitOptions, verify: VerifyOptions) -> Mapping[str, tuple[str, Path | None]]:
    """Return each file: the variable that names it, its name in the Secret, and where it is here."""
    return {
        "GITOPS_BG_GIT_TOKEN_FILE": ("token", git.git_token_file),
        "GITOPS_BG_GIT_CA_FILE": ("ca.crt", git.git_ca_file),
        "GITOPS_BG_SSH_KEY_FILE": ("ssh-key", git.ssh_key_file),
        "GITOPS_BG_KNOWN_HOSTS_FILE": ("known_hosts", git.known_hosts_file),
        "GITOPS_BG_SIGNING_KEY": ("signing-key", git.signing_key),
        "GITOPS_BG_VERIFY_SIGNERS": ("allowed_signers", verify.verify_signers),
        "GITOPS_BG_VERIFY_GPG_KEYS": ("gpg-keys.asc", verify.verify_gpg_keys),
    }


def _option(variable: str) -> str:
    return "--" + variable.removeprefix("GITOPS_BG_").lower().replace("_", "-")


def _demand_reachable(git: GitOptions) -> None:
    """Refuse a repository that an agent in a cluster cannot reach."""
    transport = transport_for(repository_settings(git, Path(), git.cluster), Path())
    if transport.protocol == "file":
        raise UsageError(
            f"--repo: {transport.url} is on this machine, where no agent in a cluster reaches it; give a URL"
        )
    if transport.protocol == "ssh" and not (git.ssh_key_file and git.known_hosts_file):
        raise UsageError("--ssh-key-file and --known-hosts-file: for ssh the agent needs both (ssh-keyscan HOST)")

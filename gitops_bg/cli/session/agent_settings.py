"""What an agent in a cluster is to have of the options that name a repository: its settings, and its credentials.

Files of this machine become files of a Secret. Applies nothing, and prints no credential.
"""

from collections.abc import Mapping
from pathlib import Path

from gitops_bg.cli.clone.user_git import repository_url
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import GitOptions, VerifyOptions
from gitops_bg.cli.session.connect import credential_file, repository_settings, verification_settings
from gitops_bg.cluster.installation.manifests import CREDENTIALS_FOLDER
from gitops_bg.repo.git.transport import transport_for
from gitops_bg.repo.settings import MAIN


def settings_for(git: GitOptions, verify: VerifyOptions) -> Mapping[str, str]:
    """Return the environment of an agent in a cluster for these options. Raises `UsageError` and `InvalidInput`."""
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


def credentials_for(git: GitOptions, verify: VerifyOptions) -> Mapping[str, bytes]:
    """Return the files of the agent's Secret by name. Must never be printed. Raises `UsageError`."""
    options = {name: (_option(variable), path) for variable, (name, path) in _files(git, verify).items() if path}
    read = {name: credential_file(option, path) for name, (option, path) in options.items()}
    return {name: path.read_bytes() for name, path in read.items() if path is not None}


def _files(git: GitOptions, verify: VerifyOptions) -> Mapping[str, tuple[str, Path | None]]:
    """Each file: the variable that names it, its name in the Secret, and where it is here."""
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

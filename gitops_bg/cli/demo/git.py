"""Plain `git` and our own verbs, as a user types them, isolated from the machine's configuration.

It must know nothing of the demo.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from gitops_bg.cli.itself import itself

_CONFIG = """\
[user]
	name = Ada Lovelace
	email = ada@example.com
[init]
	defaultBranch = main
[core]
	editor = true
[pull]
	ff = only
[gc]
	auto = 0
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
[credential]
	helper = store
[advice]
	detachedHead = false
"""
_TIMEOUT = 30.0


class GitFailed(Exception):
    """A command failed; the message has the command and its output."""


class Git:
    """Runs git in one folder, which is also its HOME."""

    def __init__(self, home: Path) -> None:
        """``home`` exists; the settings are written there."""
        self.home = home
        settings = home / "gitconfig"
        settings.write_text(_CONFIG, encoding="utf-8")
        self._environment = _environment(home, settings)

    def remember(self, url: str, user: str, password: str) -> None:
        """Store the credentials of a user for the server of ``url``."""
        server = urlsplit(url)
        line = f"{server.scheme}://{user}:{password}@{server.netloc}\n"
        (self.home / ".git-credentials").write_text(line, encoding="utf-8")

    def __call__(self, *arguments: str, at: Path | None = None) -> str:
        """Run a git command in a folder (default: home) and return what it printed. Raises ``GitFailed``."""
        return self._run(["git", *arguments], " ".join(["git", *arguments]), at or self.home, self._environment)

    def gitops_bg(self, *arguments: str, at: Path, kubeconfig: Path) -> str:
        """Run one of our own verbs in a folder and return what it printed. Raises ``GitFailed``."""
        ours = {"KUBECONFIG": str(kubeconfig), "XDG_CACHE_HOME": str(self.home / "cache")}
        configuration = {name: value for name, value in self._environment.items() if name.startswith("GIT_")}
        environment = {**without_settings(os.environ), **configuration, **ours}
        return self._run(itself(*arguments), " ".join(["gitops-bg", *arguments]), at, environment)

    def _run(self, command: Sequence[str], typed: str, folder: Path, environment: Mapping[str, str]) -> str:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT,
            )
        except subprocess.TimeoutExpired as error:
            raise GitFailed(f"{typed}: no answer within {_TIMEOUT:g} s") from error
        if done.returncode != 0:
            raise GitFailed(f"{typed}: exit {done.returncode}\n{done.stderr.strip()}")
        return done.stdout.rstrip("\n")


def without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without those variables that are options of ours.

    >>> without_settings({"PATH": "/bin", "GITOPS_BG_CLUSTER": "prod"})
    {'PATH': '/bin'}
    """
    return {name: value for name, value in environment.items() if not name.startswith("GITOPS_BG_")}


def _environment(home: Path, settings: Path) -> Mapping[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(settings),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
    }

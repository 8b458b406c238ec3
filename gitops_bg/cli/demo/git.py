"""Plain `git`, as a user types it, shut off from the configuration of the machine. It must know nothing of the demo."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

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
[advice]
	detachedHead = false
"""
_TIMEOUT = 30.0


class GitFailed(Exception):
    """A git command ended with an error; the message holds the command and what git said."""


class Git:
    """Runs git below one folder, which is also its HOME."""

    def __init__(self, home: Path) -> None:
        """``home`` exists; the file of settings is written there."""
        self.home = home
        settings = home / "gitconfig"
        settings.write_text(_CONFIG, encoding="utf-8")
        self._environment = _environment(home, settings)

    def __call__(self, *arguments: str, at: Path | None = None) -> str:
        """Run a command at a folder (default: home) and return what it printed. Raises ``GitFailed``."""
        try:
            done = self._run(arguments, at or self.home)
        except subprocess.TimeoutExpired as error:
            raise GitFailed(f"git {' '.join(arguments)}: no answer within {_TIMEOUT:g} s") from error
        if done.returncode != 0:
            raise GitFailed(f"git {' '.join(arguments)}: exit {done.returncode}\n{done.stderr.strip()}")
        return done.stdout.rstrip("\n")

    def _run(self, arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=dict(self._environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
        )


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

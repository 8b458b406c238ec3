"""The user's own git, in the current directory: the origin, the user's name, HEAD, and what the commits here change
beyond main. Never reads a secret, and writes nothing.

It runs with the user's environment, except variables that name a repository other than the current directory (git sets
them for hooks) or change what git does there: the current directory is what is meant.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gitops_bg.cli.errors import CommandFailed, UsageError
from gitops_bg.cluster.observation.states import decided_from
from gitops_bg.core import names
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.transport import repository_name
from gitops_bg.spec.app.layout import APP_FILE, POLICIES_FOLDER, PRIMARY_FILE, app_of, folder_of

_THEIRS = {
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS"),
    *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_SSL_NO_VERIFY"),
}
"""The variables that locate the user's settings and say how to reach the remote."""

_PERSON = re.compile(r"\s*([^<>]*[^<>\s])\s*<([^<>\s]+)>\s*")


def repository_url(given: str) -> str:
    """Return the URL to use: ``given``, a path made absolute, or the origin of the current directory."""
    url = given or asked("remote", "get-url", "origin")
    if not url:
        raise UsageError("which repository? Give --repo, set GITOPS_BG_REPO, or run it in a clone that has an origin")
    if "://" in url or (":" in url.partition("/")[0]):
        return url
    path = Path(url).expanduser()
    if not (given or path.is_absolute()):
        path = Path(asked("rev-parse", "--show-toplevel") or ".") / path
    return str(path.resolve())


def author(given: str) -> tuple[str, str]:
    """Return the name and mail address of the author: of ``Name <mail>``, or those that git itself would use."""
    if given:
        match = _PERSON.fullmatch(given)
        if match is None:
            raise UsageError(f"--author: {given!r} is no author; write 'Ada Lovelace <ada@example.com>'")
        return match[1], match[2]
    name = os.environ.get("GIT_AUTHOR_NAME") or asked("config", "user.name")
    mail = os.environ.get("GIT_AUTHOR_EMAIL") or asked("config", "user.email")
    if not (name and mail):
        raise UsageError("who are you? Set user.name and user.email of git, or give --author 'Name <mail>'")
    return name, mail


def who(given: str = "") -> str:
    """Return the author as one text, for requests and suspensions; the name of the account if git has no author."""
    try:
        return "{} <{}>".format(*author(given))
    except UsageError:
        if given:
            raise
        import getpass

        return getpass.getuser()


def signing_key(given: Path | None) -> Path:
    """Return the SSH key to sign with: ``given``, or the one that git itself would sign with. Raises `UsageError`."""
    if given is not None:
        return given
    key = Path(asked("config", "--type=path", "user.signingkey"))
    if asked("config", "gpg.format") == "ssh" and key.is_file():
        return key
    raise UsageError(
        "which key? Give --signing-key FILE, an SSH key, or set gpg.format to ssh and user.signingkey of git"
    )


def asked(*arguments: str) -> str:
    """Return git's output in the current directory; empty where git fails."""
    done = _run(*arguments, seconds=10)
    return done.stdout.strip() if done and done.returncode == 0 else ""


def answered(*arguments: str, **environment: str) -> str:
    """Return git's output in the current directory. Raises `CommandFailed` with git's words where it fails."""
    done = _run(*arguments, seconds=120, **environment)
    if done is None:
        raise CommandFailed("git is not installed, or does not answer")
    if done.returncode:
        raise CommandFailed(" ".join((done.stderr or done.stdout).split()) or f"git {arguments[0]} failed")
    return done.stdout.strip()


def git_answers_no(*arguments: str) -> bool:
    """Return whether git answers no (exit code 1) in the current directory. Raises `CommandFailed` for all else."""
    done = _run(*arguments, seconds=60)
    if done is None or done.returncode not in (0, 1):
        raise CommandFailed(" ".join(done.stderr.split()) if done else "git is not installed, or does not answer")
    return done.returncode == 1


def succeeds(*arguments: str) -> bool:
    """Return whether a git command succeeds in the current directory; it asks for no password."""
    done = _run(*arguments, seconds=60, GIT_TERMINAL_PROMPT="0")
    return done is not None and done.returncode == 0


def _run(*arguments: str, seconds: float, **environment: str) -> subprocess.CompletedProcess[str] | None:
    """Run git; None where it is not installed or does not answer in time."""
    env = users_environment() | environment
    try:
        return subprocess.run(
            ["git", *arguments], capture_output=True, text=True, timeout=seconds, check=False, env=env
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def users_environment() -> dict[str, str]:
    """Return the environment of the user's git: theirs, without what names another repository than the one here."""
    return {name: value for name, value in os.environ.items() if name in _THEIRS or not name.startswith("GIT_")}


MAIN = "main"
_FULL = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def named_commit(text: str) -> str:
    """Return the commit that a person means, in full. Raises `UsageError`."""
    found = asked("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
    if found or _FULL.fullmatch(text):
        return found or text
    raise UsageError(f"--commit: {text} is no commit of a clone here; write its 40 digits, or run it in the clone")


def head_of_clone(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return HEAD of the clone here, if it is one of the repository that a live app follows and HEAD is on its branch;
    and, where HEAD is not there yet, a note that says so.
    """
    annotations = body["metadata"].get("annotations") or {}
    if not _is_of(annotations.get(names.REPOSITORY, ""), decided_from(body.get("status") or {})):
        return "", ""
    head, branch = asked("rev-parse", "--verify", "--quiet", "HEAD"), annotations.get(names.BRANCH) or MAIN
    if not head or succeeds("merge-base", "--is-ancestor", head, f"refs/remotes/origin/{branch}"):
        return head, ""
    return "", f"HEAD ({head[:10]}) is not on {branch} of origin: what follows is about {branch} as the agent reads it"


def is_in_clone(app: AppKey) -> bool:
    """Return whether HEAD of the clone here has an app."""
    return succeeds("cat-file", "-e", f"HEAD:{folder_of(app)}/{APP_FILE}")


def has(commit: str, wanted: str) -> bool:
    """Return whether the clone here says that one commit contains another; False for commits that it lacks."""
    return bool(_FULL.fullmatch(commit)) and succeeds("merge-base", "--is-ancestor", wanted, commit)


def _is_of(followed: str, commit: str) -> bool:
    """Return whether the clone here is of the repository that a live app follows: by its name, or, where it has another
    one here, as behind a proxy, by a commit of it.
    """
    origin = asked("remote", "get-url", "origin")
    if not followed or not origin:
        return False
    is_named_so = repository_name(repository_url(origin)) == followed
    return is_named_so or bool(_FULL.fullmatch(commit) and succeeds("cat-file", "-e", f"{commit}^{{commit}}"))


_MOST_NAMED = 3


def promotions_with_company(path: Path, branch: str) -> Iterator[Problem]:
    """Yield a problem for each ``primary.yaml`` that is promoted together with a change that makes the
    promotion wait.
    """
    base = f"origin/{branch}"
    files = [each for each in asked("-C", str(path), "diff", "--name-only", "-z", f"{base}...HEAD").split("\0") if each]
    primaries = {each: found[0] for each in files if (found := app_of(each)) and found[1] == PRIMARY_FILE}
    if not primaries:
        return
    judging = [each for each in files if each.startswith(f"{POLICIES_FOLDER}/")]
    for file in primaries if judging else ():
        message = f"is promoted together with {judging[0]}: it would be its own judge, so traffic waits"
        yield Problem(file, message, remedy="change policies/ by a commit of its own, before or after")
    if not _has_policies(path):
        return
    said = asked("-C", str(path), "log", "--format=%B", f"{base}..HEAD").splitlines()
    for file, app in primaries.items() if "Bg-Event: promoted" in said else ():
        beside = [each for each in files if each != file]
        if beside and f"Bg-App: {app}" in said:
            message = f"is promoted by its promotion branch together with {', '.join(beside[:_MOST_NAMED])}"
            yield Problem(file, f"{message}, so traffic waits", remedy="take that out of the branch")


def _has_policies(path: Path) -> bool:
    from gitops_bg.spec.policies.load import is_policy_file  # takes half a second of CPU

    names = (each.name for each in (path / POLICIES_FOLDER).glob("*") if each.is_file())
    return any(is_policy_file(f"{POLICIES_FOLDER}/{name}") for name in names)

"""HEAD of the clone that a verb was called in: the commit that whoever calls it most likely means."""

import re
from collections.abc import Mapping
from typing import Any

from gitops_bg.cli.clone.user_git import asked, repository_url, succeeds
from gitops_bg.cli.errors import UsageError
from gitops_bg.cluster.observation.states import decided_from
from gitops_bg.core import names
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.address import repository_name
from gitops_bg.spec.app.layout import APP_FILE, folder_of

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
    """Whether HEAD of the clone here has an app."""
    return succeeds("cat-file", "-e", f"HEAD:{folder_of(app)}/{APP_FILE}")


def has(commit: str, wanted: str) -> bool:
    """Whether the clone here says that one commit contains another; False for commits that it lacks."""
    return bool(_FULL.fullmatch(commit)) and succeeds("merge-base", "--is-ancestor", wanted, commit)


def _is_of(followed: str, commit: str) -> bool:
    """Whether the clone here is of the repository that a live app follows: by its name, or, where it has another one
    here, as behind a proxy, by a commit of it.
    """
    origin = asked("remote", "get-url", "origin")
    if not followed or not origin:
        return False
    is_named_so = repository_name(repository_url(origin)) == followed
    return is_named_so or bool(_FULL.fullmatch(commit) and succeeds("cat-file", "-e", f"{commit}^{{commit}}"))

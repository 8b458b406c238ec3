"""Where the repository is, outside of a clone: each live app names the one that its agent follows (decision 20).

That name has no protocol and no credentials. Only verbs that read use it, and a token is sent to no address but one
that the user has named: who may write to an app could name another one. Asks no remote.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gitops_bg.cli.clone.user_git import asked
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import GitOptions
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.core import names
from gitops_bg.core.errors import GitopsBgError


def located(git: GitOptions, client: Callable[[], Client], namespace: str) -> GitOptions:
    """Return the options with a repository: the given one, the origin of the clone here, or that of the live apps.

    Unchanged where the cluster cannot be asked, or knows none. Raises `UsageError` where its apps follow several.
    """
    if git.repo or asked("remote", "get-url", "origin"):
        return git
    try:
        followed = {_followed(body) for body in client().list(APPS, namespace)} - {("", "")}
    except GitopsBgError:
        return git
    if len(followed) > 1:
        several = ", ".join(sorted(f"{name} (cluster {cluster})" for name, cluster in followed))
        raise UsageError(f"which repository? The apps of this cluster follow {several}; name one by --repo")
    if not followed:
        return git
    ((name, cluster),) = followed
    url = _url(name, by_ssh=git.ssh_key_file is not None)
    if git.git_token_file is not None:
        raise UsageError(f"the apps of this cluster follow {url}; your token goes only where you say: --repo {url}")
    return replace(git, repo=url, cluster=git.cluster or cluster)


def _followed(body: Mapping[str, Any]) -> tuple[str, str]:
    annotations = body["metadata"].get("annotations") or {}
    return annotations.get(names.REPOSITORY, ""), annotations.get(names.CLUSTER, "")


def _url(name: str, *, by_ssh: bool) -> str:
    """Return a URL for a repository's name.

    >>> _url("git.example.com/shop/config", by_ssh=False), _url("git.example.com/shop/config", by_ssh=True)
    ('https://git.example.com/shop/config.git', 'ssh://git@git.example.com/shop/config.git')
    >>> _url("/srv/config", by_ssh=False)
    '/srv/config.git'
    """
    if name.startswith("/"):
        return f"{name}.git"
    return f"ssh://git@{name}.git" if by_ssh else f"https://{name}.git"

"""Our refs, and which folders can be apps: what Git adds to ``spec.app.layout``. No I/O."""

import re

from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import APPROVALS_PREFIX, PROMOTION_PREFIX
from gitops_bg.spec.app.layout import APPS_FOLDER, is_dns_label

STATE_PREFIX = "gitops-bg/state/"
TRACKING_PREFIX = "refs/mirror/heads/"
"""The refs of fetched branches in the mirror; never a branch of its own."""
SEEN_REF = "refs/gitops-bg/seen"
WITHDRAWN_PREFIX = "refs/gitops-bg/withdrawn/"
"""The mirror's refs for withdrawn signed approvals; they stay, whatever happens to the branch with the withdrawal."""


def is_app(namespace: str, name: str) -> bool:
    """Whether the two can name an app: they are names of Kubernetes objects, and so also parts of a Git ref."""
    return is_dns_label(namespace) and is_dns_label(name)


def app_of_folder(path: str) -> AppKey | None:
    """The app whose folder this is, or None.

    >>> app_of_folder("apps/shop/web")
    AppKey(namespace='shop', name='web')
    """
    parts = path.split("/")
    if len(parts) != 3 or parts[0] != APPS_FOLDER or not is_app(parts[1], parts[2]):
        return None
    return AppKey(parts[1], parts[2])


def app_of_branch(branch: str) -> AppKey | None:
    """The app whose promotion branch this is, or None."""
    if not branch.startswith(PROMOTION_PREFIX):
        return None
    return app_of_folder(f"{APPS_FOLDER}/{branch.removeprefix(PROMOTION_PREFIX)}")


def approvals_app_of(branch: str) -> AppKey | None:
    """The app whose signed approvals this branch holds, or None."""
    if not branch.startswith(APPROVALS_PREFIX):
        return None
    return app_of_folder(f"{APPS_FOLDER}/{branch.removeprefix(APPROVALS_PREFIX)}")


def is_commit_id(text: str) -> bool:
    """Whether the text is a full object id, SHA-1 or SHA-256."""
    return bool(re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text))

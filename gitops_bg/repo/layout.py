"""Our refs, and which folders can be apps: what Git adds to ``spec.app.layout``. No I/O."""

import re

from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.names import GROUP_PROMOTION_PREFIX, PROMOTION_PREFIX
from gitops_bg.spec.app.layout import app_of_folder, is_dns_label

STATE_PREFIX = "gitops-bg/state/"
TRACKING_PREFIX = "refs/mirror/heads/"
"""The refs of fetched branches in the mirror; never a branch of its own."""
SEEN_REF = "refs/gitops-bg/seen"


def is_app(namespace: str, name: str) -> bool:
    """Whether the two can name an app: they are names of Kubernetes objects, and so also parts of a Git ref."""
    return is_dns_label(namespace) and is_dns_label(name)


def app_at(folder: str) -> AppKey | None:
    """The app whose folder this is; None for any other folder, and for one whose name no app can have.

    >>> app_at("apps/shop/web"), app_at("apps/shop/Web"), app_at("groups/shop/store/v1/cart")
    (AppKey(namespace='shop', name='web'), None, AppKey(namespace='shop', name='cart-v1'))
    """
    app = app_of_folder(folder)
    return app if app and is_app(app.namespace, app.name) else None


def app_of_branch(branch: str) -> AppKey | None:
    """The app whose promotion branch this is, or None.

    >>> app_of_branch("gitops-bg/promote/shop/cart-v1")
    AppKey(namespace='shop', name='cart-v1')
    """
    return _app_named(branch, PROMOTION_PREFIX)


def group_of_branch(branch: str) -> GroupKey | None:
    """The group whose branch this is, or None.

    >>> group_of_branch("gitops-bg/promote-groups/shop/store"), group_of_branch("gitops-bg/promote/shop/store")
    (GroupKey(namespace='shop', name='store'), None)
    """
    found = _app_named(branch, GROUP_PROMOTION_PREFIX)
    return GroupKey(found.namespace, found.name) if found else None


def _app_named(branch: str, prefix: str) -> AppKey | None:
    namespace, slash, name = branch.removeprefix(prefix).partition("/")
    return AppKey(namespace, name) if branch.startswith(prefix) and slash and is_app(namespace, name) else None


def is_commit_id(text: str) -> bool:
    """Whether the text is a full object id, SHA-1 or SHA-256."""
    return bool(re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text))

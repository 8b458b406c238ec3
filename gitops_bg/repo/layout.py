"""Where things are in a user's repository and on its branches (DESIGN §3): paths and refs, no I/O."""

import re

from gitops_bg.core.model import AppKey

APPS = "apps"
SETTINGS_FILE = "gitops-bg.yaml"
APP_FILE = "app.yaml"
PRIMARY_FILE = "primary.yaml"
PROMOTION_PREFIX = "gitops-bg/promote/"
TRACKING_PREFIX = "refs/mirror/heads/"
"""Where the mirror keeps what was fetched; never a branch of its own."""
SEEN_REF = "refs/gitops-bg/seen"

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAMESPACE = re.compile(_LABEL)
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")


def is_app(namespace: str, name: str) -> bool:
    """Whether the two can be an app: names of Kubernetes objects that are also part of a Git ref."""
    fits = len(name) <= 253 and not name.endswith(".lock")
    return bool(fits and _NAMESPACE.fullmatch(namespace) and _NAME.fullmatch(name))


def app_of_folder(path: str) -> AppKey | None:
    """The app whose folder this is, or None.

    >>> app_of_folder("apps/shop/web")
    AppKey(namespace='shop', name='web')
    """
    parts = path.split("/")
    if len(parts) != 3 or parts[0] != APPS or not is_app(parts[1], parts[2]):
        return None
    return AppKey(parts[1], parts[2])


def folder(app: AppKey) -> str:
    """The folder of an app, without a slash at its end."""
    return f"{APPS}/{app.namespace}/{app.name}"


def file_of(app: AppKey, name: str) -> str:
    """The path of a file of an app."""
    return f"{folder(app)}/{name}"


def promotion_branch(app: AppKey) -> str:
    """The one promotion branch of an app."""
    return f"{PROMOTION_PREFIX}{app.namespace}/{app.name}"


def app_of_branch(branch: str) -> AppKey | None:
    """The app whose promotion branch this is, or None."""
    if not branch.startswith(PROMOTION_PREFIX):
        return None
    return app_of_folder(f"{APPS}/{branch.removeprefix(PROMOTION_PREFIX)}")


def is_commit_id(text: str) -> bool:
    """Whether the text is a full object id, SHA-1 or SHA-256."""
    return bool(re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text))

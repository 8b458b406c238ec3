"""The paths below ``groups/<namespace>/<group>/``. Reads no file."""

import re

from gitops_bg.core.groups.model import version_number
from gitops_bg.core.model.version import GroupKey

GROUPS_FOLDER = "groups"
GROUP_FILE = "group.yaml"
VERSION_FILE = "version.yaml"
ROUTES_FILE = "routes.yaml"


def group_folder(group: GroupKey) -> str:
    """The folder of a group, without a trailing slash.

    >>> group_folder(GroupKey("shop", "store"))
    'groups/shop/store'
    """
    return f"{GROUPS_FOLDER}/{group.namespace}/{group.name}"


def group_file(group: GroupKey) -> str:
    """The path of ``group.yaml``.

    >>> group_file(GroupKey("shop", "store"))
    'groups/shop/store/group.yaml'
    """
    return f"{group_folder(group)}/{GROUP_FILE}"


def group_of(path: str) -> tuple[GroupKey, str] | None:
    """The group that a path belongs to, and the rest of the path; None for a path that belongs to none.

    >>> group_of("groups/shop/store/v1/cart/routes.yaml")
    (GroupKey(namespace='shop', name='store'), 'v1/cart/routes.yaml')
    >>> group_of("groups/shop/README.md"), group_of("apps/shop/web/app.yaml")
    (None, None)
    """
    parts = path.split("/", 3)
    if len(parts) != 4 or parts[0] != GROUPS_FOLDER:
        return None
    return GroupKey(parts[1], parts[2]), parts[3]


def is_version(name: str) -> bool:
    """Whether a folder's name is that of a version.

    >>> is_version("v10"), is_version("v01"), is_version("two")
    (True, False, False)
    """
    return version_number(name) > 0


def looks_like_version(name: str) -> bool:
    """Whether somebody may have meant a version: ``v01``, ``V2``, ``2``, ``version-3``.

    >>> looks_like_version("v01"), looks_like_version("docs")
    (True, False)
    """
    return re.search(r"\d", name, flags=re.ASCII) is not None or name.lower().startswith("v")

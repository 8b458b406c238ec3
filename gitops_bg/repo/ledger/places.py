"""Where the files of the ledger are on the state branch. No I/O."""

from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.repo.layout import is_app

README, POLICIES, GROUPS = "README.md", "policies.json", "groups"
"""The overview; the file of policies; and the folder of the files of groups, beside those of namespaces: no file
of an app is below it, they are one level higher.
"""
_JSON = ".json"


def app_at(path: str) -> AppKey | None:
    """The app whose file this is.

    >>> app_at("shop/web.json"), app_at("groups/shop/store.json")
    (AppKey(namespace='shop', name='web'), None)
    """
    namespace, _, file = path.partition("/")
    name = file.removesuffix(_JSON)
    return AppKey(namespace, name) if name != file and is_app(namespace, name) else None


def group_at(path: str) -> GroupKey | None:
    """The group whose file this is.

    >>> group_at("groups/shop/store.json"), group_at("groups/store.json")
    (GroupKey(namespace='shop', name='store'), None)
    """
    folder, _, rest = path.partition("/")
    found = app_at(rest) if folder == GROUPS else None
    return GroupKey(found.namespace, found.name) if found else None


def path_of_app(app: AppKey) -> str:
    """Where the file of an app is."""
    return f"{app.namespace}/{app.name}{_JSON}"


def path_of_group(group: GroupKey) -> str:
    """Where the file of a group is."""
    return f"{GROUPS}/{group.namespace}/{group.name}{_JSON}"

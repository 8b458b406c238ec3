"""Where the files of the ledger are on the state branch. No I/O."""

from gitops_bg.core.model.subject import Subject, SubjectKind
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from gitops_bg.repo.layout import is_app

README, POLICIES, GROUPS = "README.md", "policies.json", "groups"
"""The overview; the file of policies; and the folder of the files of groups, beside those of namespaces: no file
of an app is below it, they are one level higher.
"""
_JSON = ".json"


def subject_at(path: str) -> AppOrGroup | None:
    """The app or the release group whose file this is; None for any other path.

    >>> subject_at("shop/web.json"), subject_at("groups/shop/store.json"), subject_at("groups/shop/v1/store.json")
    (AppKey(namespace='shop', name='web'), GroupKey(namespace='shop', name='store'), None)
    """
    is_group = path.startswith(f"{GROUPS}/") and path.count("/") > 1
    namespace, _, file = path.removeprefix(f"{GROUPS}/" if is_group else "").partition("/")
    name = file.removesuffix(_JSON)
    if name == file or not is_app(namespace, name):
        return None
    return GroupKey(namespace, name) if is_group else AppKey(namespace, name)


def path_of(subject: Subject) -> str:
    """Where the file of an app, or of a release group, is."""
    above = f"{GROUPS}/" if subject.kind is SubjectKind.GROUP else ""
    return f"{above}{subject.namespace}/{subject.name}{_JSON}"


def in_order(subject: Subject) -> tuple[str, str, str]:
    """By what they are sorted: apps first."""
    return subject.kind, subject.namespace, subject.name

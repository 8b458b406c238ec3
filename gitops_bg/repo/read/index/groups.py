"""The release groups of a commit: the folders two levels below ``groups/``. Reads no file."""

from collections import defaultdict

from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.layout import is_app
from gitops_bg.repo.read.trees import NOTHING, Trees
from gitops_bg.spec.groups.layout import GROUPS_FOLDER


def groups_at(trees: Trees, commit: str) -> dict[GroupKey, str]:
    """Return the groups, sorted, with the object ids of their folders; impossible names are left to `misplaced`."""
    top = trees.at(commit, [GROUPS_FOLDER]).get(GROUPS_FOLDER, NOTHING).folder
    if not top:
        return {}
    spaces: defaultdict[str, list[str]] = defaultdict(list)
    for _, name, node in trees.listed([top]):
        if node.folder:
            spaces[node.folder].append(name)
    found = {
        GroupKey(namespace, name): node.folder
        for folder, name, node in trees.listed(spaces)
        for namespace in spaces[folder]
        if node.folder and is_app(namespace, name)
    }
    return dict(sorted(found.items()))

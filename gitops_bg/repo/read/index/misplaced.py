"""What is wrong with an entry in place of an app's folder, or of one above it. Reads no file."""

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.names import LONGEST_NAME
from gitops_bg.repo.layout import app_at
from gitops_bg.repo.read.trees import FOLDER, LINK, SUBMODULE, Node
from gitops_bg.spec.app.layout import APPS_FOLDER, is_manifest, member_of
from gitops_bg.spec.dns_labels import is_dns_label
from gitops_bg.spec.groups.layout import GROUPS_FOLDER, is_version

_GROUP, _VERSION = 3, 4
"""How many names the path of a release group's folder has, and of its version's."""


def not_followed(node: Node, path: str) -> Problem | None:
    """The problem of a link or submodule; None for anything else."""
    if node.mode == LINK:
        return Problem(path, "is a symbolic link; links are not followed", remedy="commit the folder itself")
    if node.mode == SUBMODULE:
        return Problem(path, "is a submodule; submodules are not read", remedy="commit the folder itself")
    return None


def misplaced(node: Node, path: str) -> Problem | None:
    """Why an entry of ``apps/`` or ``groups/`` cannot be what its place says; None where it can."""
    names = path.split("/")
    if node.mode == FOLDER:
        return _misnamed(path, names)
    return not_followed(node, path) or (_stray(path, names) if node.id and is_manifest(path) else None)


def _misnamed(path: str, names: list[str]) -> Problem | None:
    top, name = names[0], names[-1]
    if len(names) == 1 or (top == GROUPS_FOLDER and len(names) == _VERSION and not is_version(name)):
        return None  # of the second, the group's own reader says what is wrong
    if not is_dns_label(name):
        what = "a namespace or an app" if top == APPS_FOLDER else "a namespace, a release group or a service"
        remedy = "use lower case letters, digits and dashes, as Kubernetes does"
        return Problem(path, f"cannot be the name of {what}", remedy=remedy)
    member = member_of(path)
    if member and app_at(path) is None and len(member.app.name) > LONGEST_NAME:
        message = f"{member.app.name} is longer than the {LONGEST_NAME} characters that Kubernetes allows"
        return Problem(path, message, remedy="use a shorter name")
    return None


def _stray(path: str, names: list[str]) -> Problem | None:
    """The problem of a manifest above the folders that are read."""
    if names[0] == APPS_FOLDER:
        return Problem(path, "belongs to no app", remedy=f"move it into {APPS_FOLDER}/<namespace>/<app>/")
    if len(names) <= _GROUP:
        remedy = f"move it into {GROUPS_FOLDER}/<namespace>/<group>/"
        return Problem(path, "belongs to no release group", remedy=remedy)
    return None

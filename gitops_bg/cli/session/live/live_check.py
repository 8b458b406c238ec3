"""What a cluster lacks for the files of a repository: kinds and their versions, namespaces, Gateways. Reads only."""

from collections.abc import Iterator, Mapping

from gitops_bg.cli.session.live.live_gateways import gateway_problems
from gitops_bg.cli.session.live.live_objects import object_problems
from gitops_bg.cluster.api.errors import KindMissing
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.cluster.api.remedies import missing_kind
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import APP_FILE, app_of
from gitops_bg.spec.groups.layout import GROUP_FILE, group_of
from gitops_bg.spec.yaml.reader import read_one

_FIELD = ("metadata", "namespace")


def live_problems(cluster: Cluster, files: Mapping[str, bytes | Problem]) -> Iterator[Problem]:
    """Yield a problem for each app.yaml and group.yaml whose namespace does not exist, then those of objects and
    of Gateways.

    Raises `KindMissing` where nobody has installed our kinds, and as `Cluster`.
    """
    if not cluster.client.serves(APPS):
        raise KindMissing(missing_kind(APPS.path(), 404, {}))
    exists: dict[str, bool] = {}
    for path, content in sorted(files.items()):
        namespace = _namespace_of(path)
        if namespace and namespace not in exists:
            exists[namespace] = cluster.has_namespace(namespace)
        if namespace and not exists[namespace]:
            yield _missing(path, content, namespace)
    yield from object_problems(cluster, files)
    yield from gateway_problems(cluster, files)


def _namespace_of(path: str) -> str:
    """The namespace of what a file defines, if it is the file of an app or a group; else empty."""
    for found, name in ((app_of(path), APP_FILE), (group_of(path), GROUP_FILE)):
        if found is not None and found[1] == name:
            return found[0].namespace
    return ""


def _missing(path: str, content: bytes | Problem, namespace: str) -> Problem:
    message, remedy = f"namespace {namespace} does not exist in this cluster", f"kubectl create namespace {namespace}"
    document = read_one(path, content)[0] if isinstance(content, bytes) else None
    return document.problem(_FIELD, message, remedy) if document else Problem(path, message, remedy=remedy)

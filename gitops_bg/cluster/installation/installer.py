"""Applies the objects of an installation, or removes the agent among them. Waits for no pod: see `readiness`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import (
    APPS,
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    NAMESPACES,
    RELEASE_GROUPS,
    SECRETS,
    SERVICES,
    Kind,
    Object,
    name_of,
)
from gitops_bg.cluster.execution.writer import entry_of
from gitops_bg.cluster.installation.manifests import (
    AGENTS,
    IMPERSONATED,
    NAME,
    WATCHED,
    Installation,
    Watched,
    bindings_of,
)
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.drift import Change, ChangeSetEntry

_RBAC = "rbac.authorization.k8s.io/v1"
CLUSTER_ROLE_BINDINGS = Kind(_RBAC, "ClusterRoleBinding", "clusterrolebindings")
RIGHTS = (
    CLUSTER_ROLE_BINDINGS,
    Kind(_RBAC, "ClusterRole", "clusterroles"),
    Kind(_RBAC, "RoleBinding", "rolebindings"),
    Kind(_RBAC, "Role", "roles"),
    Kind("v1", "ServiceAccount", "serviceaccounts"),
)
NETWORK_POLICIES = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
_KEPT = (NAMESPACES, DEFINITIONS, CONFIG_MAPS, SECRETS)
"""What outlives the agent: it holds the apps' records, and the user's settings."""
_KINDS = {kind.name: kind for kind in (*_KEPT, DEPLOYMENTS, SERVICES, NETWORK_POLICIES, *RIGHTS)}
_AGGREGATED = "rbac.authorization.k8s.io/aggregate-to-"
_HELM = "meta.helm.sh/release-name"


class InstalledOtherwise(Refused):
    """Another installation of the agent is in this cluster, and this one would take its rights away."""

    reason = "InstalledOtherwise"


def apply(client: Client, objects: Iterable[Object]) -> Iterator[ChangeSetEntry]:
    """Apply objects one by one, by server-side apply, and yield what happened to each. Raises as `Client`.

    A field that somebody else set is taken over, as by ``kubectl apply --server-side --force-conflicts``: the files
    say what an installation is.
    """
    for body in objects:
        kind = _KINDS[body["kind"]]
        live = client.get(kind, *name_of(body))
        yield entry_of(kind, body, _change(body, live, client.apply(kind, body, force=True)))


def _change(body: Object, before: Object | None, after: Object) -> Change:
    """What a write did to what ``body`` names: some servers give a definition a new version for the same content."""
    if before is None:
        return Change.CREATED
    same = all(before.get(key) == after.get(key) for key in body.keys() - {"metadata"})
    return Change.UNCHANGED if same else Change.CONFIGURED


def removable(objects: Iterable[Object]) -> tuple[Object, ...]:
    """What is removed with the agent, in that order: its pods, its Service and who reaches it, its rights.

    Without the agent every ReplicaSet and Service stays as it is, and serves. The kinds stay, too: with them all
    records would go. So do the roles by which people see them.
    """
    order = [kind.name for kind in (DEPLOYMENTS, SERVICES, NETWORK_POLICIES, *RIGHTS)]
    found = [each for each in objects if each["kind"] in order and not _is_for_people(each)]
    return tuple(sorted(found, key=lambda each: order.index(each["kind"])))


def definitions(objects: Iterable[Object]) -> tuple[Object, ...]:
    """The CustomResourceDefinitions among objects."""
    return tuple(each for each in objects if each["kind"] == DEFINITIONS.name)


def roles_for_people(objects: Iterable[Object]) -> tuple[Object, ...]:
    """The roles that add our kinds to `view` and `edit`; they go with the kinds."""
    return tuple(filter(_is_for_people, objects))


def _is_for_people(body: Object) -> bool:
    return any(label.startswith(_AGGREGATED) for label in body["metadata"].get("labels") or {})


def remove(client: Client, objects: Iterable[Object]) -> Iterator[ChangeSetEntry]:
    """Delete those of the objects that exist, one by one, and yield each. Raises as `Client`."""
    for body in objects:
        kind = _KINDS[body["kind"]]
        live = client.get(kind, *name_of(body))
        if live is not None:
            client.delete(kind, *name_of(body), uid=live["metadata"]["uid"])
            yield entry_of(kind, live, Change.DELETED)


def demand_own(client: Client, namespace: str) -> None:
    """Raise `InstalledOtherwise` where helm installed the agent, or where it runs in another namespace."""
    live = client.get(DEPLOYMENTS, namespace, NAME)
    release = (live or {"metadata": {}})["metadata"].get("annotations", {}).get(_HELM)
    if release:
        raise InstalledOtherwise(
            f"helm installed the agent, as release {release}: helm upgrade, or helm uninstall, {release} -n {namespace}"
        )
    for each in client.list(DEPLOYMENTS, "", AGENTS):
        other, name = name_of(each)
        if other != namespace and name == NAME:
            raise InstalledOtherwise(
                f"the agent is installed in namespace {other}, and one cluster has its rights once: "
                f"give --namespace {other}, or first gitops-bg uninstall --namespace {other}"
            )


def settings_of(client: Client, namespace: str) -> Mapping[str, str]:
    """The settings of an installed agent; empty where there are none."""
    found: Mapping[str, str] = (client.get(CONFIG_MAPS, namespace, NAME) or {}).get("data") or {}
    return found


def watched_now(client: Client, settings: Mapping[str, str]) -> Watched | None:
    """Where an installed agent has its rights, by its settings and what is bound; None: nobody said yet."""
    everywhere = client.get(CLUSTER_ROLE_BINDINGS, "", NAME) is not None
    namespaces = tuple(settings.get(WATCHED, "").split())
    return Watched(namespaces, everywhere, settings.get(IMPERSONATED, "")) if everywhere or namespaces else None


def superseded(folder: Path, wanted: Installation, before: Watched | None) -> tuple[Object, ...]:
    """The bindings that an agent had before, and is to have no longer."""
    once = before or Watched()
    kept = {_key(each) for each in bindings_of(folder, wanted)}
    scopes = (replace(once, everywhere=True), replace(once, everywhere=False))
    found = (each for scope in scopes for each in bindings_of(folder, replace(wanted, watched=scope)))
    return tuple(each for each in found if _key(each) not in kept)


def _key(body: Object) -> tuple[str, str, str]:
    return str(body["kind"]), *name_of(body)


def apps_of(client: Client) -> list[str]:
    """The BlueGreenDeployments and ReleaseGroups of all namespaces, as NAMESPACE/NAME; none without those kinds."""
    found = (each for kind in (APPS, RELEASE_GROUPS) if client.serves(kind) for each in client.list(kind))
    return sorted("/".join(name_of(each)) for each in found)

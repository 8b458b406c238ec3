"""The roles of deploy/, bound as an installation binds them, or without one right; and what the API server refused."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import yaml

from tests.support.cluster.clusters import DEPLOY, ControlPlaneCluster, TestCluster
from tests.support.cluster.paths import collection, path_in
from tests.support.cluster.rawapi import Json, RawApi
from tests.support.waiting import eventually

GROUP = "rbac.authorization.k8s.io"
ACCOUNT = {"kind": "ServiceAccount", "name": "gitops-bg", "namespace": "gitops-bg"}
AGENT = "gitops-bg"
IN_PLACE = "gitops-bg-app-pods"
APP_SECRETS = "gitops-bg-app-secrets"
SECRETS = "gitops-bg-secrets"
LEASE = "gitops-bg-lease"
IMPERSONATOR = "gitops-bg-impersonator"
ADOPT = "gitops-bg-adopt"
DAEMON_SETS = "gitops-bg-daemonsets"
BOUND = (AGENT, IN_PLACE, APP_SECRETS, SECRETS, LEASE, ADOPT, DAEMON_SETS)
"""The roles by which the agent acts itself."""


class Right(NamedTuple):
    """One verb on one resource, with its subresource."""

    role: str
    group: str
    resource: str
    verb: str

    def is_missed_in(self, refusals: Iterable[tuple[str, str, str]]) -> bool:
        """Whether it is among what was refused; a patch that applies what does not exist needs `create`."""
        verbs = ("create", "patch") if self.verb == "create" else (self.verb,)
        return any((self.group, self.resource, verb) in refusals for verb in verbs)

    def __str__(self) -> str:
        where = f".{self.group}" if self.group else ""
        return f"{self.role}: {self.verb} {self.resource}{where}"


@functools.cache
def written() -> list[Json]:
    """What deploy/rbac.yaml says. Nobody may change it."""
    return list(yaml.safe_load_all((DEPLOY / "rbac.yaml").read_text()))


def rights() -> list[Right]:
    """Every right that is shipped for the agent."""
    found = {each["metadata"]["name"]: each for each in written() if each["kind"] in ("Role", "ClusterRole")}
    return [right for role in BOUND for rule in found[role]["rules"] for right in _rights(role, rule)]


def _rights(role: str, rule: Json) -> Iterator[Right]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            yield from (Right(role, group, resource, verb) for verb in rule["verbs"])


def install(cluster: ControlPlaneCluster) -> Path:
    """Install the agent's rights as deploy/ has them, bound nowhere yet; its kubeconfig."""
    cluster.install_our_kind()
    for manifest in (yaml.safe_load((DEPLOY / "namespace.yaml").read_text()), *written()):
        cluster.apply(manifest)
    return cluster.control_plane.service_account(ACCOUNT["namespace"], ACCOUNT["name"])


def bind(
    cluster: ControlPlaneCluster, namespace: str, role: str = AGENT, account: Json = ACCOUNT, name: str = ""
) -> None:
    """Bind a role to the agent in one namespace; without another role, as deploy/app-namespace.yaml does."""
    binding = yaml.safe_load((DEPLOY / "app-namespace.yaml").read_text())
    binding["metadata"] = {"name": name or role, "namespace": namespace}
    binding["roleRef"]["name"] = role
    binding["subjects"] = [account]
    if role == LEASE:  # the agent's own namespace has it; some agents of tests have their Lease where their apps are
        cluster.apply(_lease_role(namespace))
        binding["roleRef"]["kind"] = "Role"
    cluster.apply(binding)


def _lease_role(namespace: str) -> Json:
    (role,) = (each for each in written() if each["kind"] == "Role")
    return {**role, "metadata": {**role["metadata"], "namespace": namespace}}


def may(api: RawApi, group: str, resource: str, verb: str, namespace: str) -> bool:
    """Whether the identity of `api` has a right in a namespace (empty: in all of them); asking is no use of it."""
    name, _, subresource = resource.partition("/")
    attributes = {"group": group, "resource": name, "subresource": subresource, "verb": verb, "namespace": namespace}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    return bool(answer["status"]["allowed"])


def wait_bound(kubeconfig: Path, namespace: str) -> None:
    """Wait until a role that was just bound counts: until one of two rights of it is there."""
    with closing(RawApi(kubeconfig)) as api:
        both = (("apps", "replicasets"), ("", "services"))
        eventually(lambda: any(may(api, *what, "list", namespace) for what in both), what="the rights have arrived")


def as_shipped(cluster: TestCluster, namespace: str) -> Path:
    """The kubeconfig of an agent with the rights of deploy/ in one namespace, and nowhere else; where there is RBAC."""
    if not isinstance(cluster, ControlPlaneCluster):
        return cluster.kubeconfig
    known, kubeconfig = _accounts.get(cluster, ("", None))
    # Whoever uninstalls the agent takes its roles along, and its account, with which its token ends.
    has_roles = cluster.find(f"/apis/{GROUP}/v1/clusterroles/{AGENT}") is not None
    if kubeconfig is None or not has_roles or _account_uid(cluster) != known:
        kubeconfig = install(cluster)
        _accounts[cluster] = (_account_uid(cluster), kubeconfig)
    for role in (LEASE, SECRETS, APP_SECRETS, IN_PLACE, ADOPT, DAEMON_SETS, AGENT):
        bind(cluster, namespace, role)
    wait_bound(kubeconfig, namespace)
    return kubeconfig


_accounts: WeakKeyDictionary[ControlPlaneCluster, tuple[str, Path | None]] = WeakKeyDictionary()
"""The uid of the agent's account in each cluster, and the kubeconfig with its token."""


def _account_uid(cluster: ControlPlaneCluster) -> str:
    account = cluster.find(path_in(ACCOUNT["namespace"], "ServiceAccount", ACCOUNT["name"]))
    return str(account["metadata"]["uid"]) if account else ""


def bind_all_but(cluster: ControlPlaneCluster, namespace: str, without: Right) -> Path:
    """Give a ServiceAccount of a namespace all rights there of the agent, and of the role in question, except one.

    Returns its kubeconfig.
    """
    account = {"kind": "ServiceAccount", "name": "agent", "namespace": namespace}
    kept = [each for each in rights() if each.role in (AGENT, LEASE, without.role) and each != without]
    rules = [{"apiGroups": [each.group], "resources": [each.resource], "verbs": [each.verb]} for each in kept]
    metadata = {"name": "all-but-one", "namespace": namespace}
    cluster.apply({"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
    reference = {"apiGroup": GROUP, "kind": "Role", "name": "all-but-one"}
    cluster.create(
        collection(f"{GROUP}/v1", "RoleBinding", namespace),
        {"metadata": metadata, "roleRef": reference, "subjects": [account]},
    )
    return cluster.control_plane.service_account(namespace, "agent")

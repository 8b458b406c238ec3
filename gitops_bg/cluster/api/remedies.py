"""The command that mends what an API server refuses: a missing kind, namespace or right. Pure; decides nothing.

The words of RBAC's refusals are those of apiserver `pkg/endpoints/handlers/responsewriters/errors.go`.
"""

import re
from collections.abc import Mapping
from typing import Any

from gitops_bg.core import names

INSTALL = "gitops-bg install"

_FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]+)" cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)"| at the cluster scope)',
    re.ASCII,
)
_CONSTRAINED = re.compile(
    r'cannot impersonate(?:-on)?:serviceaccount(?::\w+)? resource "[^"]+" in API group "[^"]*"', re.ASCII
)
"""How newer API servers say that a right to impersonate is missing: as that to act so on what was asked for
(https://github.com/kubernetes/enhancements/issues/5284). The right of before grants all of it, on every release.
"""
_IMPERSONATE = 'cannot impersonate resource "serviceaccounts" in API group ""'
_ACCOUNT = re.compile(r"system:serviceaccount:(?P<namespace>[^:]+):(?P<name>.+)")
_READS = ("get", "list", "watch")
_AGENTS_OWN = "gitops-bg"
"""The name of the agent's ServiceAccount and ClusterRole in deploy/rbac.yaml."""
_GRANTED_BY = {
    ("pods", "patch"): f"{_AGENTS_OWN}-app-pods",
    ("pods/eviction", "create"): f"{_AGENTS_OWN}-app-pods",
    ("serviceaccounts", "impersonate"): f"{_AGENTS_OWN}-impersonator",
    **{
        ("daemonsets", verb): f"{_AGENTS_OWN}-daemonsets"
        for verb in ("get", "list", "watch", "create", "patch", "delete")
    },
    ("deployments", "get"): f"{_AGENTS_OWN}-adopt",
    ("deployments/scale", "patch"): f"{_AGENTS_OWN}-adopt",
}
"""The ClusterRole of a right that somebody grants the agent in a namespace, by resource and verb."""
_VIEWED = frozenset(
    {
        names.PLURAL,
        names.GROUP_PLURAL,
        "replicasets",
        "daemonsets",
        "services",
        "endpointslices",
        "pods",
        "events",
        "configmaps",
    }
)
"""What the ClusterRole `view` lets people read, ours included (deploy/rbac.yaml)."""


def missing_kind(path: str, status: int, answer: Mapping[str, Any]) -> str:
    """Why a call of one of our kinds found no such kind, with the command; empty where that is not the matter.

    An API server without any kind of a group answers in plain text; one with another kind of it names no object.
    """
    ours = path.startswith(f"/apis/{names.GROUP}/")
    if not ours or status != 404 or (answer.get("details") or {}).get("name"):
        return ""
    kind = names.GROUP_KIND if f"/{names.GROUP_PLURAL}" in path else names.KIND
    return f"this cluster has no kind {kind}: {INSTALL}"


def missing_namespace(status: int, answer: Mapping[str, Any]) -> str:
    """Why a write found no namespace, with the command; empty where that is not the matter."""
    details = answer.get("details") or {}
    if status != 404 or details.get("kind") != "namespaces":
        return ""
    return no_namespace(str(details.get("name", "")))


def no_namespace(name: str) -> str:
    """A namespace that does not exist, with the command."""
    return f"namespace {name} does not exist: kubectl create namespace {name}"


def missing_right(message: str) -> str:
    """Which right is missing, with the command; empty where RBAC is not the matter, or no role of ours helps.

    >>> missing_right('x is forbidden: User "ida" cannot list resource "pods" in API group "" in the namespace "shop"')
    'ida cannot list pods in namespace shop: kubectl -n shop create rolebinding ida-view --clusterrole=view --user=ida'
    """
    found = _FORBIDDEN.search(_CONSTRAINED.sub(_IMPERSONATE, message))
    command = _command(found) if found else ""
    if found is None or not command:
        return ""
    resource = f"{found['resource']}.{found['group']}" if found["group"] else found["resource"]
    where = f"in namespace {found['namespace']}" if found["namespace"] else "in all namespaces"
    return f"{found['user']} cannot {found['verb']} {resource} {where}: {command}"


def _command(refused: re.Match[str]) -> str:
    resource = refused["resource"].partition("/")[0]
    account = _ACCOUNT.fullmatch(refused["user"])
    if account and account["name"] == _AGENTS_OWN:
        return _for_the_agent(refused, account)
    if resource not in _VIEWED:
        return ""
    return _binding(refused, account, "view" if refused["verb"] in _READS else "edit")


def _for_the_agent(refused: re.Match[str], account: re.Match[str]) -> str:
    if refused["resource"] == "secrets":
        return ""
    role = _GRANTED_BY.get((refused["resource"], refused["verb"]))
    if role:
        subject = f"--serviceaccount={account['namespace']}:{account['name']}"
        return f"kubectl -n {refused['namespace']} create rolebinding {role} --clusterrole={role} {subject}"
    everywhere = "" if refused["namespace"] else " --watch-all-namespaces"
    return f"{INSTALL} --namespace {account['namespace']}{everywhere}"


def _binding(refused: re.Match[str], account: re.Match[str] | None, role: str) -> str:
    subject = f"--serviceaccount={account['namespace']}:{account['name']}" if account else f"--user={refused['user']}"
    who = re.sub(r"[^a-z0-9.-]+", "-", (account["name"] if account else refused["user"]).lower()).strip("-.")
    kind = f"-n {refused['namespace']} create rolebinding" if refused["namespace"] else "create clusterrolebinding"
    return f"kubectl {kind} {who}-{role} --clusterrole={role} {subject}"

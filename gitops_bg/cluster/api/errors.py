"""Translates responses of the API server and network errors into the errors of `core.errors`, with the command that
mends what it refuses: a missing kind, namespace or right.

Every error of the client library passes here (pitfalls.md §1.1, §1.2): HTTP codes, urllib3's errors, a token file that
is missing for a moment, and its own exceptions. The words of RBAC's refusals are those of apiserver
`pkg/endpoints/handlers/responsewriters/errors.go`.
"""

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gitops_bg.core import names
from gitops_bg.core.errors import GitopsBgError, Refused, Transient, WorldChanged
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.foreign_text import held_in, hidden, lines_of

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
    """Return why a call of one of our kinds found no such kind, with the command; empty where that is not the matter.

    An API server without any kind of a group answers in plain text; one with another kind of it names no object.
    """
    ours = path.startswith(f"/apis/{names.GROUP}/")
    if not ours or status != 404 or (answer.get("details") or {}).get("name"):
        return ""
    kind = names.GROUP_KIND if f"/{names.GROUP_PLURAL}" in path else names.KIND
    return f"this cluster has no kind {kind}: {INSTALL}"


def missing_namespace(status: int, answer: Mapping[str, Any]) -> str:
    """Return why a write found no namespace, with the command; empty where that is not the matter."""
    details = answer.get("details") or {}
    if status != 404 or details.get("kind") != "namespaces":
        return ""
    return no_namespace(str(details.get("name", "")))


def no_namespace(name: str) -> str:
    """Return a namespace that does not exist, with the command."""
    return f"namespace {name} does not exist: kubectl create namespace {name}"


def missing_right(message: str) -> str:
    """Return which right is missing, with the command; empty where RBAC is not the matter, or no role of ours helps.

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


_BUSY = (408, 429)
_LONGEST_WAIT = 3600.0
"""The most seconds that a server is obeyed for; Python cannot wait for infinitely many."""
_UNTYPABLE = re.compile("failed to create typed patch object")
"""A 500 by its code; but the applied object does not fit the schema, so a retry is useless."""


class NotFound(Refused):
    """Something that the call needs does not exist: a namespace, or a kind that this cluster does not serve."""

    reason = "NotFound"


class KindMissing(NotFound):
    """The API server does not serve one of our own kinds: nobody installed them."""

    reason = "KindMissing"


class NamespaceMissing(NotFound):
    """The namespace of what was to be written does not exist."""

    reason = "NamespaceMissing"


class NoAccess(Refused):
    """No usable configuration names a cluster: no kubeconfig, or an invalid one. No server was asked."""

    reason = "NoAccess"


class Unauthorized(Refused):
    """The API server does not accept our credentials, even fresh ones."""

    reason = "Unauthorized"


class Forbidden(Refused):
    """The agent lacks the right (HTTP 403), or a quota or an admission controller refuses."""

    reason = "Forbidden"


class NamespaceClosed(Forbidden):
    """The server refuses to list what is in a namespace: nothing is known of it, and nothing may be decided there."""


class ForeignObject(Refused):
    """An object with a name that the agent needs belongs to somebody else; it is left alone (DESIGN §3.4)."""

    reason = "ForeignObject"


class Gone(Transient):
    """The version asked for is no longer kept (HTTP 410): list again."""

    reason = "Gone"


class Silent(Transient):
    """A stream brought nothing for longer than it ever should: its connection may be dead."""

    reason = "Silent"


def grant_for_secrets(namespace: str) -> str:
    """Return how to let the agent copy and apply the Secrets of apps; nobody has that right by default
    (deploy/rbac.yaml).
    """
    return f"bind the ClusterRole gitops-bg-app-secrets to the agent in namespace {namespace}"


@contextmanager
def border(what: str) -> Iterator[None]:
    """Translate every error of the client library and the network inside into a `Transient` or a `Refused`."""
    try:
        yield
    except GitopsBgError:
        raise
    except Exception as error:
        translated = _translated(what, error)
        if translated is None:
            raise
        raise translated from error


def _translated(what: str, error: Exception) -> GitopsBgError | None:
    """Return the error of ours for one of the libraries'; None for a bug. Imports them now: most calls raise none."""
    import urllib3

    if isinstance(error, urllib3.exceptions.HTTPError | OSError):
        return Transient(f"{what}: {describe(error)}")
    import pydantic
    from kubernetes.client.exceptions import OpenApiException
    from kubernetes.config import ConfigException

    if isinstance(error, pydantic.ValidationError):
        reasons = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_input=False))
        return Refused(f"{what}: the client library does not accept this object: {'; '.join(reasons)}")
    if isinstance(error, OpenApiException | ConfigException):
        return Transient(f"{what}: {describe(error)}")
    return None


def describe(error: BaseException) -> str:
    """Return the error as one line, without addresses of Python objects.

    >>> describe(TimeoutError("<connection at 0x7f1c>: Read timed out."))
    'Read timed out.'
    """
    line = lines_of(str(error))[0] or type(error).__name__
    return line.rpartition(">: ")[2]


def refusal(
    what: str, status: int, headers: Mapping[str, str], data: bytes, path: str = "", sent: Any = None
) -> Exception:
    """Return the error for an HTTP response other than 2xx; ``what`` names the call in a few words, ``path`` is its
    path.

    What a user can mend by one command says so, and does not repeat the server's words. These may quote what was
    ``sent``: the server, or a webhook of it, knows no secrets. What it has below ``data`` is hidden.
    """
    answer = _status_object(data)
    if mendable := _mendable(status, answer, path):
        return mendable
    sentence = f"{what}: {status} {answer.get('reason', '')}: {answer.get('message', '')}".strip(": ")
    sentence = hidden(sentence, held_in(sent))
    if (status in _BUSY or status >= 500) and not _UNTYPABLE.search(sentence):
        return Transient(sentence, retry_after=_seconds(headers.get("Retry-After")))
    if status == 409:
        return WorldChanged(sentence)
    if status == 410:
        return Gone(sentence)
    if status == 404:
        return NotFound(sentence)
    return {401: Unauthorized, 403: Forbidden}.get(status, Refused)(sentence)


def _mendable(status: int, answer: Mapping[str, Any], path: str) -> Refused | None:
    if said := missing_kind(path, status, answer):
        return KindMissing(said)
    if said := missing_namespace(status, answer):
        return NamespaceMissing(said)
    said = missing_right(str(answer.get("message", ""))) if status == 403 else ""
    return Forbidden(said) if said else None


def is_absent(status: int, data: bytes, path: str = "") -> bool:
    """Return whether a 404 means "no object of this name", not "no such kind" (plain text from the API server).

    With the ``path`` of the call, a kind of ours that is missing beside another one is told from a missing object.
    """
    if status != 404:
        return False
    answer = _status_object(data)
    return answer.get("reason") == "NotFound" and not missing_kind(path, status, answer)


def is_failed_test(status: int, data: bytes) -> bool:
    """Return whether a JSON patch was refused because of its ``test`` (HTTP 422, pitfalls.md §7).

    An invalid object is a 422 as well, but its response lists the causes.
    """
    return status == 422 and not (_status_object(data).get("details") or {}).get("causes")


def _status_object(data: bytes) -> dict[str, Any]:
    """Return the Status of a refusal: ``details`` are a mapping in it, whoever answered; empty where there is none."""
    try:
        answer = read_json(data)
    except ValueError:
        return {"message": data[:200].decode(errors="replace").strip()}
    if not isinstance(answer, dict):
        return {}
    details = answer.get("details")
    return answer | {"details": details if isinstance(details, dict) else {}}


def _seconds(header: str | None) -> float | None:
    try:
        seconds = float(header) if header else math.nan
    except ValueError:
        return None  # an HTTP date; the API server sends seconds
    return None if math.isnan(seconds) else min(max(seconds, 0.0), _LONGEST_WAIT)

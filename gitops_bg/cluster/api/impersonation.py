"""Whose rights a request uses: the agent's own, or those of a ServiceAccount of the namespace that it is about.

Lists and watches are the agent's: one watch may be about many namespaces. So are the objects that it keeps for itself,
its records, Events and Lease, which no tenant has a say in. All else is what a namespace asks for. Sends nothing.
"""

import re

from gitops_bg.cluster.api.kinds import APPS, EVENTS, LEASES, RELEASE_GROUPS

_OWN = frozenset(kind.plural for kind in (APPS, RELEASE_GROUPS, EVENTS, LEASES))
_OUTSIDE = re.compile(r"/(?:(?!.*/namespaces/).*|api/v1/namespaces/[^/]+)")
"""Of no namespace, or a Namespace itself."""
_INSIDE = re.compile(
    r"/(?:api|apis/[^/]+)/[^/]+/namespaces/(?P<namespace>[^/]+)/(?P<plural>[^/]+)(?P<name>(?:/[^/]+)+)?"
)


def impersonation(account: str, method: str, path: str) -> dict[str, str]:
    """The headers by which a request acts as the ServiceAccount ``account`` of its namespace; none where it does not.

    >>> impersonation("apps", "PATCH", "/apis/apps/v1/namespaces/shop/replicasets/web-v1")
    {'Impersonate-User': 'system:serviceaccount:shop:apps'}
    >>> impersonation("apps", "GET", "/apis/apps/v1/namespaces/shop/replicasets")
    {}
    >>> impersonation("apps", "PUT", "/apis/gitops-bg.dev/v1alpha1/namespaces/shop/bluegreendeployments/web/status")
    {}

    Raises ``ValueError`` for a path that is about some namespace, nobody can tell how: the agent's own rights are no
    answer to that.

    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
    """
    if not account or _OUTSIDE.fullmatch(path):
        return {}
    inside = _INSIDE.fullmatch(path)
    if inside is None:
        raise ValueError(f"whose rights {method} {path} needs cannot be told")
    if inside["plural"] in _OWN or (method == "GET" and not inside["name"]):
        return {}
    return {"Impersonate-User": f"system:serviceaccount:{inside['namespace']}:{account}"}

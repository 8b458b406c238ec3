"""HTTPRoutes as objects of the Gateway API. Pure; `cluster.groups.routes` reads them back."""

from gitops_bg.cluster.api.kinds import HTTP_ROUTES, Object
from gitops_bg.core.model.auxiliary import HttpRoute
from gitops_bg.spec.manifests.routes import http_route_spec


def http_route(namespace: str, labels: dict[str, str], route: HttpRoute) -> Object:
    """The manifest of an HTTPRoute."""
    return {
        "apiVersion": HTTP_ROUTES.api_version,
        "kind": HTTP_ROUTES.name,
        "metadata": {"name": route.name, "namespace": namespace, "labels": dict(labels)},
        "spec": http_route_spec(route),
    }

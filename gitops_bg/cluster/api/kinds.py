"""The paths of each kind of object at the API server. Nothing here sends a request."""

from sys import intern
from typing import Any
from urllib.parse import quote

from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.version import WorkloadKind

Object = dict[str, Any]
"""One Kubernetes object as JSON (pitfalls.md §1.1: never a model of the client library)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource of the API: ``api_version`` as in manifests, ``plural`` as in paths."""

    api_version: str
    name: str
    plural: str

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of one object, of a namespace's collection, or of the collection in all namespaces.

        >>> SERVICES.path("shop", "web")
        '/api/v1/namespaces/shop/services/web'
        """
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        inside = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        return f"{root}{inside}/{self.plural}" + (f"/{quote(name, safe='')}" if name else "")

    def called(self, namespace: str, name: str = "") -> str:
        """Return the name of an object of this kind in a sentence, or of all of them."""
        if not name:
            return f"{self.plural} of {namespace or 'all namespaces'}"
        return f"{self.name} {namespace}/{name}" if namespace else f"{self.name} {name}"


REPLICA_SETS = Kind("apps/v1", "ReplicaSet", "replicasets")
DAEMON_SETS = Kind("apps/v1", "DaemonSet", "daemonsets")
DEPLOYMENTS = Kind("apps/v1", "Deployment", "deployments")
SERVICES = Kind("v1", "Service", "services")
EVENTS = Kind("v1", "Event", "events")
CONFIG_MAPS = Kind("v1", "ConfigMap", "configmaps")
SECRETS = Kind("v1", "Secret", "secrets")
JOBS = Kind("batch/v1", "Job", "jobs")
LEASES = Kind("coordination.k8s.io/v1", "Lease", "leases")
NETWORK_POLICIES = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
PODS = Kind("v1", "Pod", "pods")
NAMESPACES = Kind("v1", "Namespace", "namespaces")
DEFINITIONS = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")
APPS = Kind(names.API_VERSION, names.KIND, names.PLURAL)
RELEASE_GROUPS = Kind(names.API_VERSION, names.GROUP_KIND, names.GROUP_PLURAL)
GATEWAYS = Kind("gateway.networking.k8s.io/v1", "Gateway", "gateways")
INGRESSES = Kind("networking.k8s.io/v1", "Ingress", "ingresses")
HTTP_ROUTES = Kind("gateway.networking.k8s.io/v1", "HTTPRoute", "httproutes")
GRPC_ROUTES = Kind("gateway.networking.k8s.io/v1", "GRPCRoute", "grpcroutes")
ENDPOINT_SLICES = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
ENDPOINT_SLICES_BETA = Kind("discovery.k8s.io/v1beta1", "EndpointSlice", "endpointslices")
"""Kubernetes before 1.21 has only this version; the fields read here are the same in both."""

WORKLOADS = {WorkloadKind.REPLICA_SET: REPLICA_SETS, WorkloadKind.DAEMON_SET: DAEMON_SETS}
"""What runs the pods of versions."""

CONFIGURATION = {kind.name: kind for kind in (CONFIG_MAPS, SECRETS)}
"""The kinds that hold configuration, by name."""

OURS = f"{names.MANAGED_BY}={names.MANAGER}"
"""The label selector of the objects that this agent created or was handed over."""
NOT_OURS = f"{names.MANAGED_BY}!={names.MANAGER}"
"""That of all others, also of those without the label."""

JOB_NAME = "job-name"
"""The label by which Kubernetes marks the pods of a Job."""

PODS_OF_JOBS = f"{OURS},{JOB_NAME}"
"""The label selector of the pods of Jobs that this agent created."""


def name_of(body: Object) -> tuple[str, str]:
    """Return namespace and name of an object or a manifest; a namespace is kept once for all that is in it."""
    metadata = body["metadata"]
    return intern(str(metadata.get("namespace", ""))), str(metadata["name"])

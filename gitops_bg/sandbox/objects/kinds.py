"""The resource types the sandbox serves, and where a definition adds one. It must hold no object.

Names, short names and flags are those of `kubectl api-resources` and of the strategies in
kubernetes `pkg/registry/*/strategy.go`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gitops_bg.sandbox.objects.objects import Manifest

ResourceKey = tuple[str, str]
"""`(group, plural)`: what objects are stored under, whatever version they are served in."""

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the `/scale` subresource finds its numbers; paths without the leading dot."""

    spec_path: str = "spec.replicas"
    status_path: str = "status.replicas"
    selector_path: str = ""


@dataclass(frozen=True, eq=False)
class ServedKind:
    """One served resource type in one version."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    scale: Scale | None = None
    has_generation: bool = False
    needs_version_to_update: bool = False
    creates_on_update: bool = False
    orphans_by_default: bool = False
    singular: str = ""
    list_kind: str = ""
    schema: Manifest | None = None
    columns: tuple[Manifest, ...] = ()
    is_custom: bool = False

    @property
    def key(self) -> ResourceKey:
        """Return the storage key."""
        return self.group, self.plural

    @property
    def qualified(self) -> str:
        """Return `plural.group`, the name error messages use."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """Return `group/version`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_name(self) -> str:
        """Return the kind of a list of these."""
        return self.list_kind or f"{self.kind}List"

    @property
    def path(self) -> str:
        """Return the path of the group and version below the server's root."""
        return f"apis/{self.group}/{self.version}" if self.group else f"api/{self.version}"


_ALL = ("all",)
_SELECTOR = Scale(selector_path="spec.selector")

BUILTIN = (
    ServedKind("", "v1", "Namespace", "namespaces", False, ("ns",), has_status=True),
    ServedKind("", "v1", "Pod", "pods", short_names=("po",), categories=_ALL, has_status=True),
    ServedKind(
        "", "v1", "Service", "services",
        short_names=("svc",), categories=_ALL, has_status=True, creates_on_update=True,
    ),
    ServedKind("", "v1", "Endpoints", "endpoints", short_names=("ep",), creates_on_update=True),
    ServedKind("", "v1", "ConfigMap", "configmaps", short_names=("cm",)),
    ServedKind("", "v1", "Secret", "secrets"),
    ServedKind("", "v1", "Event", "events", short_names=("ev",), creates_on_update=True),
    ServedKind("", "v1", "ServiceAccount", "serviceaccounts", short_names=("sa",)),
    ServedKind("", "v1", "Node", "nodes", False, ("no",), has_status=True),
    ServedKind(
        "apps", "v1", "ReplicaSet", "replicasets",
        short_names=("rs",), categories=_ALL, has_status=True, has_generation=True, scale=_SELECTOR,
    ),
    ServedKind(
        "apps", "v1", "Deployment", "deployments",
        short_names=("deploy",), categories=_ALL, has_status=True, has_generation=True, scale=_SELECTOR,
    ),
    ServedKind(
        "apps", "v1", "DaemonSet", "daemonsets",
        short_names=("ds",), categories=_ALL, has_status=True, has_generation=True,
    ),
    ServedKind(
        "batch", "v1", "Job", "jobs",
        categories=_ALL, has_status=True, has_generation=True, orphans_by_default=True,
    ),
    ServedKind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", has_generation=True),
    ServedKind(
        "coordination.k8s.io", "v1", "Lease", "leases",
        needs_version_to_update=True, creates_on_update=True,
    ),
    ServedKind(
        "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers",
        short_names=("hpa",), categories=_ALL, has_status=True,
    ),
    ServedKind(
        "autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers",
        short_names=("hpa",), categories=_ALL, has_status=True,
    ),
    ServedKind(
        "networking.k8s.io", "v1", "Ingress", "ingresses", short_names=("ing",), has_status=True, has_generation=True
    ),
    ServedKind(
        "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", short_names=("netpol",), has_generation=True
    ),
    ServedKind("rbac.authorization.k8s.io", "v1", "Role", "roles"),
    ServedKind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
    ServedKind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", False),
    ServedKind("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", False),
    ServedKind(
        "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets",
        short_names=("pdb",), has_status=True, has_generation=True,
    ),
    ServedKind(
        "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False,
        short_names=("crd", "crds"), categories=("api-extensions",), has_status=True, has_generation=True,
        needs_version_to_update=True,
    ),
)  # fmt: skip

NAMESPACES: ResourceKey = ("", "namespaces")
NODES: ResourceKey = ("", "nodes")
PODS: ResourceKey = ("", "pods")
SERVICES: ResourceKey = ("", "services")
CONFIG_MAPS: ResourceKey = ("", "configmaps")
SECRETS: ResourceKey = ("", "secrets")
EVENTS: ResourceKey = ("", "events")
ENDPOINTS: ResourceKey = ("", "endpoints")
DEPLOYMENTS: ResourceKey = ("apps", "deployments")
REPLICASETS: ResourceKey = ("apps", "replicasets")
DAEMON_SETS: ResourceKey = ("apps", "daemonsets")
JOBS: ResourceKey = ("batch", "jobs")
SLICES: ResourceKey = ("discovery.k8s.io", "endpointslices")
BUDGETS: ResourceKey = ("policy", "poddisruptionbudgets")
DEFINITIONS: ResourceKey = ("apiextensions.k8s.io", "customresourcedefinitions")


@dataclass
class Kinds:
    """All types served at this moment, found by path or by `apiVersion` and `kind`."""

    _by_path: dict[tuple[str, str, str], ServedKind] = field(default_factory=dict)
    _by_name: dict[tuple[str, str], ServedKind] = field(default_factory=dict)
    _preferred: dict[ResourceKey, ServedKind] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in BUILTIN:
            self.add(kind)

    def __iter__(self) -> Iterator[ServedKind]:
        return iter(list(self._by_path.values()))

    def add(self, kind: ServedKind) -> None:
        """Serve one more type, or the same one with a new schema."""
        self._by_path[kind.group, kind.version, kind.plural] = kind
        self._by_name[kind.api_version, kind.kind] = kind
        self._preferred.setdefault(kind.key, kind)
        if self._preferred[kind.key].version == kind.version:
            self._preferred[kind.key] = kind

    def remove(self, key: ResourceKey) -> None:
        """Stop serving every version of a type."""
        for kind in [kind for kind in self if kind.key == key]:
            del self._by_path[kind.group, kind.version, kind.plural]
            del self._by_name[kind.api_version, kind.kind]
        self._preferred.pop(key, None)

    def at(self, group: str, version: str, plural: str) -> ServedKind | None:
        """Return the type served at this path."""
        return self._by_path.get((group, version, plural))

    def has_version(self, group: str, version: str) -> bool:
        """Return whether the server knows this group and version at all."""
        return any(kind[:2] == (group, version) for kind in self._by_path)

    def named(self, api_version: str, kind: str) -> ServedKind | None:
        """Return the type with this `apiVersion` and `kind`."""
        return self._by_name.get((api_version, kind))

    def of(self, key: ResourceKey) -> ServedKind:
        """Return the stored version of a type; raise KeyError for an unknown one."""
        return self._preferred[key]

"""The kinds of auxiliary objects that a cluster serves, with their versions. Asks the server once for each group."""

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import NotFound
from gitops_bg.cluster.api.kinds import Kind
from gitops_bg.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """One kind in all its versions; versions in one tuple have the same fields."""

    group: str
    plural: str
    versions: tuple[tuple[str, ...], ...]
    comes_with: str = ""
    """The product with its CustomResourceDefinition; empty for a kind of Kubernetes itself."""


FAMILIES = {
    "HorizontalPodAutoscaler": Family("autoscaling", "horizontalpodautoscalers", (("v2", "v2beta2"), ("v1",))),
    "ScaledObject": Family("keda.sh", "scaledobjects", (("v1alpha1",),), "KEDA"),
    "PodDisruptionBudget": Family("policy", "poddisruptionbudgets", (("v1", "v1beta1"),)),
    "HTTPRoute": Family("gateway.networking.k8s.io", "httproutes", (("v1", "v1beta1"),), "the Gateway API"),
    "GRPCRoute": Family("gateway.networking.k8s.io", "grpcroutes", (("v1",),), "the Gateway API"),
    "ConfigMap": Family("", "configmaps", (("v1",),)),
    "Secret": Family("", "secrets", (("v1",),)),
}


WATCHED = frozenset(("HorizontalPodAutoscaler", "PodDisruptionBudget"))
"""The kinds that are watched, from the first app on that has one. ConfigMaps and Secrets are watched for every app; a
kind of a CustomResourceDefinition may come and go, and is read at each look.
"""


class AuxiliaryKinds:
    """The kinds that this cluster serves. Thread-safe: single dict operations."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._served: dict[str, tuple[str, ...]] = {}

    def kind(self, name: str, api_version: str = "") -> Kind | None:
        """Return the kind in the requested version, else in one with the same fields; None where none is served."""
        family = FAMILIES[name]
        served = self._versions(family.group)
        usable = (version for version in _wanted(family, api_version.rpartition("/")[2]) if version in served)
        version = next(usable, None)
        if version is None:
            return None
        return Kind(f"{family.group}/{version}" if family.group else version, name, family.plural)

    def forget(self, name: str) -> None:
        """Forget a group whose kind the server no longer knows, so that it is asked again."""
        self._served.pop(FAMILIES[name].group, None)

    def _versions(self, group: str) -> tuple[str, ...]:
        """Return the versions of a group; only a response is cached, so that a later installation is found."""
        if not group:
            return ("v1",)
        if group not in self._served:
            try:
                found = self._client.read(f"look for {group}", f"/apis/{group}")
            except NotFound:
                return ()
            self._served[group] = tuple(each["version"] for each in found["versions"])
        return self._served[group]


def why_unserved(name: str, api_version: str) -> str:
    """Return what a cluster lacks to serve a kind, and the remedy."""
    family = FAMILIES[name]
    if family.comes_with:
        definition = f"{family.plural}.{family.group}"
        return f"this cluster has no CustomResourceDefinition {definition}: install {family.comes_with}"
    versions = _wanted(family, api_version.rpartition("/")[2])
    return f"this cluster serves {name} in none of {', '.join(f'{family.group}/{each}' for each in versions)}"


def _wanted(family: Family, version: str) -> tuple[str, ...]:
    """Return the versions to try, the requested one first; all of them where none is requested."""
    alike = next((each for each in family.versions if version in each), ())
    others = alike if version else tuple(each for group in family.versions for each in group)
    return (version, *(each for each in others if each != version)) if version else others

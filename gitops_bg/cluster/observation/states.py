"""What the caches keep of a live object: a few fields, small enough for ten thousand apps (pitfalls.md §1.1).

Two states are equal where no relevant field differs; only a difference wakes the agent. Nothing here decides what a
state means.
"""

from collections.abc import Mapping
from dataclasses import field
from sys import intern
from typing import Protocol

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.manifests.stored_record import unpacked
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import PackedJson
from gitops_bg.core.model.main import Main
from gitops_bg.core.model.version import WorkloadKind

Pairs = tuple[tuple[str, str], ...]
"""A map of strings, sorted by key."""


@dataclass(frozen=True, slots=True)
class Controller:
    """The owner that manages an object, from its ``ownerReferences``."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Meta:
    """The identity and ownership of an object.

    ``app`` is the value of our label, ``manager`` that of app.kubernetes.io's.
    """

    namespace: str
    name: str
    uid: str
    version: str = field(compare=False)
    generation: int = field(compare=False, default=0)
    """Grows with each change of the spec; 0 for kinds without one. Every relevant change is in other fields."""
    app: str = ""
    manager: str = ""
    controller: Controller | None = None
    deleting: bool = False
    owners: tuple[str, ...] = ()
    """The uids of all its owners, sorted: they are few, and a set would take four times the memory."""


class State(Protocol):
    """The common part of every cached state."""

    @property
    def meta(self) -> Meta:
        """Identity and ownership."""


@dataclass(frozen=True, slots=True)
class ReplicaSetState:
    """A ReplicaSet or DaemonSet."""

    meta: Meta
    full_digest: str
    snapshot: str
    color: str
    number: str
    replicas: int
    """Of a DaemonSet: the nodes that it is for, at least 1; 0 where it was taken off them."""
    available: int
    seen: bool
    """Whether its controller has seen the newest generation, so that ``available`` belongs to this spec."""
    min_ready_seconds: int
    intact: bool
    """Whether its template and labels are what its own snapshot renders to."""
    configuration: str = ""
    """The annotation with the configuration that it uses (``spec.manifests.configuration``)."""
    anti_affinity: str = ""
    """The annotation with the version whose nodes its pods avoid (``cluster.manifests.pod_templates``)."""
    own_pods: str = ""
    """The annotation with the labels whose terms mean this version alone (``cluster.manifests.pod_templates``)."""
    worn: str = ""
    """The annotation with the role metadata of its pods (``cluster.manifests.pod_templates``)."""
    pods: int = 0
    ready: int = 0
    failure: str = ""
    """Reason and message of its condition ReplicaFailure."""
    workload: WorkloadKind = WorkloadKind.REPLICA_SET


@dataclass(frozen=True, slots=True)
class ConfigurationState:
    """A ConfigMap or Secret of ours: the digest of its real content, without the content."""

    meta: Meta
    kind: str
    of: str
    """The name in Git of the object that it is a copy of; empty where it is no copy."""
    digest: str
    """The digest of its content under that name; empty where it is no copy."""
    immutable: bool
    content: int = 0
    """A hash of the content of what is no copy: somebody else's change of it wakes the agent."""


@dataclass(frozen=True, slots=True)
class AuxiliaryState:
    """An autoscaler or a budget: only whether it changed, because a pass reads it live."""

    meta: Meta
    content: int
    """A hash of its labels and its spec; its status is others' to write."""


@dataclass(frozen=True, slots=True)
class Copied:
    """The ConfigMaps and Secrets of an app, and the kinds of them that may not be listed."""

    states: tuple[ConfigurationState, ...] = ()
    unlisted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceState:
    """A Service: its selector, and the other fields that Git may set."""

    meta: Meta
    selector: Pairs
    content: str
    """JSON of labels, annotations, owners and spec (without the selector)."""
    moved_by: tuple[str, ...] = ()
    """The other field managers that wrote something of its selector."""
    added: tuple[str, ...] = ()
    """The fields of its spec that others added, and that say which pods get requests (`additions.added_to_service`)."""
    applied: str = "{}"
    """JSON of the fields that the agent's last apply named (`additions.applied_fields`)."""


@dataclass(frozen=True, slots=True)
class SliceState:
    """An EndpointSlice: its Service, and the ready endpoints."""

    meta: Meta
    service: str
    ready: tuple[str, ...]
    """The uid of each ready pod (the address of an endpoint without a pod), so that two IP families count once."""
    bases: tuple[str, ...] = ()
    """The names of these pods without their random ends, each once; an empty text for endpoints without a pod."""
    ports: tuple[str, ...] = ()
    """The names of the Service's ports that lead to these pods, without ports that no container has."""


@dataclass(frozen=True, slots=True)
class ReleaseGroupState:
    """A ReleaseGroup, as far as it is watched."""

    meta: Meta
    asks: bool
    """Whether somebody asks something of it that its record has not answered."""
    repository: str = ""
    cluster: str = ""
    """What it follows, as `AppState`'s."""


@dataclass(frozen=True, slots=True)
class AppState:
    """A BlueGreenDeployment; ``spec`` is a JSON text, and ``status`` packed: it is most of what is kept of an app."""

    meta: Meta
    spec: str
    status: PackedJson
    recorded: bool
    """Whether the status holds a record of ours."""
    phase: str
    """The phase in the status; empty where it says none."""
    main: Main
    """The main that the record was decided from; `NO_MAIN` where it names none, or somebody damaged it."""
    traffic: str
    """The digest that live traffic goes to, as the record says; empty before the first switch."""
    request: str
    asks: bool
    """Whether `request` is one that the record has not answered."""
    reconcile: str
    repository: str = ""
    """The repository, and which of its clusters and branches, it follows; empty where nothing says so."""
    cluster: str = ""
    branch: str = ""
    claimed_by: str = ""
    """Which other repository claims it."""
    created: str = ""
    """When it was made, as the API server says it."""
    edited: bool = False
    """Somebody edited the record in its status, so that it has none."""

    def has_served(self, digest: str) -> bool:
        """Return whether live traffic ever went to a version, as far as the record remembers. Unpacks the status."""
        served = part_of(unpacked(self.status.read()) or {}, "routing").get("activations")
        return isinstance(served, list) and digest in served


def part_of(stored: Object, name: str) -> Object:
    """Return a part of a stored record, by its name; an empty one where there is none, or somebody damaged it."""
    part = stored.get(name)
    return part if isinstance(part, dict) else {}


def decided_from(status: Object) -> str:
    """Return the commit of main that the record in a live status was decided from; empty where it names none."""
    main = part_of(part_of(unpacked(status) or {}, "git"), "main")
    return str(main.get("commit") or "")


def meta_of(body: Object) -> Meta:
    """Return the `Meta` of any object; strings that repeat across objects are shared."""
    metadata = body["metadata"]
    labels: Mapping[str, str] = metadata.get("labels") or {}
    return Meta(
        namespace=intern(metadata.get("namespace", "")),
        name=metadata["name"],
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        generation=metadata.get("generation", 0),
        app=intern(labels.get(names.APP, "")),
        manager=intern(labels.get(names.MANAGED_BY, "")),
        controller=_controller(metadata),
        deleting="deletionTimestamp" in metadata,
        owners=tuple(sorted({intern(owner["uid"]) for owner in metadata.get("ownerReferences") or ()})),
    )


def pairs(values: Mapping[str, str] | None) -> Pairs:
    """Return a map of strings as sorted pairs.

    >>> pairs({"b": "2", "a": "1"})
    (('a', '1'), ('b', '2'))
    """
    return tuple(sorted((values or {}).items()))


def _controller(metadata: Object) -> Controller | None:
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return Controller(*(intern(owner[name]) for name in ("apiVersion", "kind", "name", "uid")))
    return None

"""What the caches keep of a live object: a few fields, small enough for ten thousand apps (pitfalls.md §1.1).

Two states are equal where nothing that matters differs; only a difference wakes the agent. Nothing here decides what
a state means.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Protocol

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core import names

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
    """Who an object is and whose. ``app`` is the value of our label, ``manager`` that of app.kubernetes.io's."""

    namespace: str
    name: str
    uid: str
    version: str = field(compare=False)
    app: str = ""
    manager: str = ""
    controller: Controller | None = None
    deleting: bool = False
    owners: frozenset[str] = frozenset()
    """The uids of all its owners."""


class State(Protocol):
    """What every cached state has."""

    @property
    def meta(self) -> Meta:
        """Who and whose."""


@dataclass(frozen=True, slots=True)
class ReplicaSetState:
    """A ReplicaSet. ``generation`` is not compared: what changed is in the other fields or does not matter."""

    meta: Meta
    full_digest: str
    snapshot: str
    color: str
    number: str
    replicas: int
    available: int
    seen: bool
    """Whether its controller has seen the newest generation, so that ``available`` is about this spec."""
    min_ready_seconds: int
    intact: bool
    """Whether its template and labels are what its own snapshot renders to."""
    configuration: str = ""
    """The annotation that says what configuration it uses (``spec.manifests.configuration``)."""
    anti_affinity: str = ""
    """The annotation that says what its pods are kept off (``cluster.manifests.anti_affinity``)."""
    worn: str = ""
    """The annotation that says what its pods carry by their role (``cluster.manifests.ephemeral_metadata``)."""
    pods: int = 0
    ready: int = 0
    failure: str = ""
    """Reason and message of its condition ReplicaFailure."""
    generation: int = field(compare=False, default=0)


@dataclass(frozen=True, slots=True)
class ConfigurationState:
    """A ConfigMap or Secret of ours: the digest of what it really holds, never that itself."""

    meta: Meta
    kind: str
    of: str
    """What Git calls the object that it is a copy of; empty where it is no copy."""
    digest: str
    """Of its content under that name; empty where it is no copy."""
    immutable: bool


@dataclass(frozen=True, slots=True)
class Copied:
    """The ConfigMaps and Secrets of an app, and the kinds of them that may not be listed."""

    states: tuple[ConfigurationState, ...] = ()
    unlisted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceState:
    """A Service: what its selector is, and the rest of what Git may have an opinion on."""

    meta: Meta
    selector: Pairs
    content: str
    """JSON of labels, annotations, owners and spec (without the selector)."""


@dataclass(frozen=True, slots=True)
class SliceState:
    """An EndpointSlice: the Service it belongs to and who in it is ready."""

    meta: Meta
    service: str
    ready: tuple[str, ...]
    """The uid of each ready pod (an address where it is no pod), so that two IP families count once."""
    bases: tuple[str, ...] = ()
    """What the names of these pods begin with, each once; empty text for what is no pod."""
    ports: tuple[str, ...] = ()
    """The names of the Service's ports that lead to these pods; one that no container has is not among them."""


@dataclass(frozen=True, slots=True)
class AppState:
    """A BlueGreenDeployment; ``spec`` and ``status`` are JSON texts, read when needed."""

    meta: Meta
    spec: str
    status: str
    recorded: bool
    """Whether the status keeps a record of ours."""
    request: str
    reconcile: str
    repository: str = ""
    """Which repository, and which of its clusters, it follows; empty where the code of before made it."""
    cluster: str = ""
    claimed_by: str = ""
    """Who else would have it follow another one."""
    generation: int = field(compare=False, default=0)


def meta_of(body: Object) -> Meta:
    """The `Meta` of any object; short strings that repeat across objects are shared."""
    metadata = body["metadata"]
    labels: Mapping[str, str] = metadata.get("labels") or {}
    return Meta(
        namespace=intern(metadata.get("namespace", "")),
        name=metadata["name"],
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        app=intern(labels.get(names.APP, "")),
        manager=intern(labels.get(names.MANAGED_BY, "")),
        controller=_controller(metadata),
        deleting="deletionTimestamp" in metadata,
        owners=frozenset(intern(owner["uid"]) for owner in metadata.get("ownerReferences") or ()),
    )


def pairs(values: Mapping[str, str] | None) -> Pairs:
    """A map of strings as sorted pairs.

    >>> pairs({"b": "2", "a": "1"})
    (('a', '1'), ('b', '2'))
    """
    return tuple(sorted((values or {}).items()))


def _controller(metadata: Object) -> Controller | None:
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return Controller(intern(owner["apiVersion"]), intern(owner["kind"]), owner["name"], owner["uid"])
    return None

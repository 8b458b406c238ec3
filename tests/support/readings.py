"""How tests read what the agent left behind: ReplicaSets as versions, messages of the state branch as entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gitops_bg.core import names
from tests.support.cluster.rawapi import Json


class Version(NamedTuple):
    """A ReplicaSet, as a user sees it."""

    name: str
    uid: str
    tag: str
    digest: str  # short
    color: str
    number: str
    replicas: int
    available: int


def version_of(found: Json) -> Version:
    """What a user reads off a live ReplicaSet, or DaemonSet."""
    status = found.get("status", {})
    labels, image = found["metadata"].get("labels") or {}, found["spec"]["template"]["spec"]["containers"][0]["image"]
    return Version(
        name=found["metadata"]["name"],
        uid=found["metadata"]["uid"],
        tag=image.rpartition(":")[2],
        digest=labels.get(names.DIGEST, ""),
        color=labels.get(names.COLOR, ""),
        number=labels.get(names.VERSION, ""),
        replicas=found["spec"].get("replicas", status.get("desiredNumberScheduled", 0)),
        available=status.get("availableReplicas", status.get("numberAvailable", 0)),
    )


def entries_in(text: str) -> Iterator[dict[str, str]]:
    """The blocks of trailers in messages; each begins with `Bg-App`, `Bg-Group`, or `Bg-Event` (of all policies)."""
    entry: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(": ")
        if not colon or not name.startswith("Bg-"):
            continue
        if name in ("Bg-App", "Bg-Group") or (name == "Bg-Event" and "Event" in entry):
            if entry:
                yield entry
            entry = {}
        entry[name.removeprefix("Bg-")] = value
    if entry:
        yield entry

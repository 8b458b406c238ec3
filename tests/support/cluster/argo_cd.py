"""Argo CD, as far as it meets us: an Application with self-heal, by what its controller does at each look and sync.

After argo-cd 3.x: `controller/sync.go` (`normalizeTargetResources`: what is ignored is taken from the live object into
the desired one), `gitops-engine/pkg/diff` (the three-way difference that says OutOfSync) and `resource_ops.go` (the
apply is kubectl's own, by the field manager `argocd-controller`). Self-heal looks ten times a second here, Argo CD
every few seconds.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import path_of
from tests.support.cluster.rawapi import Json

MANAGER = "argocd-controller"
CLIENT_SIDE: tuple[str, ...] = ("apply", "--validate=false", f"--field-manager={MANAGER}")
SERVER_SIDE = (*CLIENT_SIDE, "--server-side", "--force-conflicts")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_TRACKING = "argocd.argoproj.io/tracking-id"
_PAUSE_SECONDS = 0.1
_MERGE_KEYS = {"ports": "port"}
"""Lists that a strategic merge joins by a key of their items, in the kinds of objects that tests give it."""


@dataclass(frozen=True, slots=True)
class Sync:
    """What `spec` of an Application says about it: its ignored differences, and how it applies."""

    ignored: tuple[Json, ...] = ()
    """``ignoreDifferences``: `kind`, `name` and `jsonPointers` of each."""
    options: tuple[str, ...] = ()
    """``syncPolicy.syncOptions``."""

    @classmethod
    def of(cls, spec: Mapping[str, Any], **names: str) -> Sync:
        """As an Application has it; ``names`` replaces names of objects in its rules."""
        rules = ({**each, "name": names.get(each["name"], each["name"])} for each in spec["ignoreDifferences"])
        return cls(tuple(rules), tuple(spec["syncPolicy"]["syncOptions"]))

    def pointers(self, manifest: Json) -> list[list[str]]:
        """The ignored fields of an object."""
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        rules = (each for each in self.ignored if each["kind"] == kind and each.get("name") in (None, name))
        return [_steps(pointer) for rule in rules for pointer in rule["jsonPointers"]]


class Seen(NamedTuple):
    """One object at one look: as Git has it, and as the cluster had it then."""

    desired: Json
    live: Json | None


class ArgoCd:
    """The controller of one Application, whose manifests anybody may replace, as by a push."""

    def __init__(self, cluster: TestCluster, manifests: Iterable[Json], sync: Sync) -> None:
        self.manifests = [_tracked(each) for each in manifests]
        self.syncs: list[str] = []
        """The names of the objects that it wrote, in order."""
        self._cluster = cluster
        self._sync = sync
        self._stopped = threading.Event()
        self._failed: BaseException | None = None

    def push(self, manifest: Json) -> None:
        """Its repository has another manifest of this object from now on."""
        name = manifest["metadata"]["name"]
        self.manifests = [_tracked(manifest) if each["metadata"]["name"] == name else each for each in self.manifests]

    def look(self) -> list[Seen]:
        """What it knows when a sync begins."""
        return [Seen(each, self._cluster.find(path_of(each))) for each in self.manifests]

    def out_of_sync(self, seen: Sequence[Seen]) -> list[Seen]:
        """The objects that are not as Git has them, apart from what is ignored."""
        return [each for each in seen if self._differs(each)]

    def sync(self, seen: Iterable[Seen]) -> None:
        """Apply them as its look found them, however long ago that was."""
        for each in seen:
            how = SERVER_SIDE if "ServerSideApply=true" in self._sync.options else CLIENT_SIDE
            self.syncs.append(each.desired["metadata"]["name"])
            done = self._cluster.kubectl(*how, "-f", "-", input=json.dumps(self._target(each)))
            assert done.returncode == 0, done.stderr

    @contextmanager
    def healing(self) -> Iterator[None]:
        """Meanwhile whatever is out of sync is applied again."""

        def heal() -> None:
            try:
                while not self._stopped.wait(_PAUSE_SECONDS):
                    self.sync(self.out_of_sync(self.look()))
            except BaseException as error:
                self._failed = error

        thread = threading.Thread(target=heal)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()
        assert self.is_well()

    def is_well(self) -> bool:
        """True, or whatever ended its healing is raised."""
        if self._failed is not None:
            raise RuntimeError("Argo CD failed") from self._failed
        return True

    def _differs(self, seen: Seen) -> bool:
        """Whether a three-way merge would change the live object; nobody looks at what is ignored."""
        if seen.live is None:
            return True
        before = json.loads(seen.live["metadata"].get("annotations", {}).get(_LAST_APPLIED, "null")) or seen.desired
        pointers = self._sync.pointers(seen.desired)
        original, desired, live = (_without(each, pointers) for each in (before, seen.desired, seen.live))
        return bool(_merged(original, desired, live) != live)

    def _target(self, seen: Seen) -> Json:
        """What it applies: with `RespectIgnoreDifferences` the ignored fields are as live as its look was."""
        if seen.live is None or "RespectIgnoreDifferences=true" not in self._sync.options:
            return seen.desired
        pointers = self._sync.pointers(seen.desired)
        target = _without(seen.desired, pointers)
        for steps in pointers:
            _copy(seen.live, target, steps)
        return target


def _tracked(manifest: Json) -> Json:
    """With the annotation by which it knows its own."""
    made, metadata = deepcopy(manifest), manifest["metadata"]
    mark = f"shop:/{manifest['kind']}:{metadata['namespace']}/{metadata['name']}"
    made["metadata"]["annotations"] = {**metadata.get("annotations", {}), _TRACKING: mark}
    return made


def _steps(pointer: str) -> list[str]:
    """The keys of a JSON pointer (RFC 6901)."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _without(found: Json, pointers: Iterable[Sequence[str]]) -> Json:
    """Without these fields; one that is not there is left out already."""
    made = deepcopy(found)
    for *parents, last in pointers:
        place: Any = made
        for step in parents:
            place = place.get(step, {})
        place.pop(last, None)
    return made


def _copy(origin: Json, to: Json, steps: Sequence[str]) -> None:
    """One field, if it is there."""
    *parents, last = steps
    for step in parents:
        if step not in origin:
            return
        origin, to = origin[step], to.setdefault(step, {})
    if last in origin:
        to[last] = deepcopy(origin[last])


def _merged(original: Any, desired: Any, live: Any, name: str = "") -> Any:
    """The live value after an apply: what Git has, without what it had, and with everything that others added."""
    key = _MERGE_KEYS.get(name)
    if key and all(isinstance(each, list) for each in (original or [], desired, live or [])):
        items = _merged(*({item[key]: item for item in each or []} for each in (original, desired, live)))
        return list(items.values())
    if not isinstance(desired, dict) or not isinstance(live, dict):
        return desired
    original = original if isinstance(original, dict) else {}
    kept = {key: value for key, value in live.items() if key in desired or key not in original}
    given = {key: _merged(original.get(key), value, live.get(key), key) for key, value in desired.items()}
    return {**kept, **given}

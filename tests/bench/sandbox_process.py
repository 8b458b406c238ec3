"""A sandbox in a process of its own, so that its work is not measured as the agent's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitops_bg.core import names
from gitops_bg.sandbox import Sandbox
from gitops_bg.sandbox.objects.objects import to_json
from tests.bench.apps import MODELS, BenchApp
from tests.bench.channel import serve, settings_of_child
from tests.bench.stamping import Stamp, is_about
from tests.support.waiting import eventually

_KINDS = (
    (names.API_VERSION, names.KIND),
    ("v1", "Service"),
    ("apps/v1", "ReplicaSet"),
    ("v1", "Pod"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    ("v1", "Endpoints"),
)
"""Owners first."""


class BenchSandbox(Sandbox):
    """A sandbox that whole objects can be put into, as a restored backup of etcd would."""

    def restore(self, stamps: Iterable[Stamp]) -> int:
        """Copy the models' objects, status and ids included; returns how many objects that made.

        An app's namespace keeps its own id: it owns what serves, beside the app.
        """
        self._loop.stop()
        made = 0
        models = {model: self._objects_of(model) for model in MODELS}
        stamps = list(stamps)
        for namespace in {stamp.app.namespace for stamp in stamps}:
            self.create_namespace(namespace)
        uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in self.objects("v1", "Namespace")}
        for stamp in stamps:
            owner = {uids[stamp.model.namespace]: uids[stamp.app.namespace]}
            owned = replace(stamp, ids={**stamp.ids, **owner})
            for obj in owned.objects(models[stamp.model]):
                kind = self._kinds.named(obj["apiVersion"], obj["kind"])
                assert kind is not None
                self._store.put(kind.key, obj)
                made += 1
        self._loop.start()
        eventually(self._loop.is_idle, timeout=600, every=0.1, what="the controllers are idle")
        return made

    def _objects_of(self, model: BenchApp) -> list[str]:
        texts = (to_json(obj).decode() for kind in _KINDS for obj in self.objects(*kind, model.namespace))
        return [text for text in texts if is_about(model, text)]


def main() -> None:
    """Serve until the parent is done."""
    folder = Path(settings_of_child()["folder"])
    with BenchSandbox(ready_after=0.0, traffic=False) as sandbox:

        def kubeconfig() -> str:
            return str(sandbox.kubeconfig(folder / "kubeconfig"))

        def stamp(apps: list[dict[str, Any]], trees: list[dict[str, str]]) -> int:
            by_sort = {model.auto: model for model in MODELS}
            stamps = zip(apps, trees, strict=True)
            return sandbox.restore(Stamp(by_sort[app["auto"]], BenchApp(**app), ids) for app, ids in stamps)  # type: ignore[attr-defined]

        def requests() -> list[list[str]]:
            return [[each.verb, each.resource] for each in sandbox.requests.all() if "gitops-bg/" in each.user_agent]

        serve({"kubeconfig": kubeconfig, "stamp": stamp, "requests": requests, "forget": sandbox.requests.clear})


if __name__ == "__main__":
    main()

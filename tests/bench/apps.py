"""The apps of a measurement: their names, their files, and their versions. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.version import AppKey, Color, Source, Stage, Version
from gitops_bg.spec.app.primary import render_primary
from tests.fixtures.repos import texts

FIRST = "1.0.0"
NEXT = "1.1.0"
NEVER_READY = "1.1.0-missing"
"""A tag whose pods no kubelet of the tests makes ready: the measurement does it itself."""


@dataclass(frozen=True)
class BenchApp:
    """One app; ``auto`` promotes itself."""

    namespace: str
    name: str
    auto: bool = False

    @cached_property
    def digest(self) -> str:
        """The digest of its first version."""
        return texts.digest(self.name, FIRST)

    def path(self, file: str) -> str:
        """Where a file of it is in the repository."""
        return f"apps/{self.namespace}/{self.name}/{file}"

    def folder(self) -> dict[str, bytes]:
        """What a user wrote first."""
        text = texts.app(self.namespace, self.name).decode()
        if self.auto:
            text = text.replace("autoPromotionEnabled: false", "autoPromotionEnabled: true")
            text = text.replace("via: pullRequest", "via: commit")
        return {self.path("app.yaml"): text.encode(), **self.target(FIRST)}

    def target(self, tag: str) -> dict[str, bytes]:
        """The target with an image tag; one pod, so that the cluster's own work stays small."""
        return {self.path("target.yaml"): texts.target(self.namespace, self.name, tag, replicas=1)}

    def primary(self, tag: str, version: int, commit: str) -> dict[str, bytes]:
        """A primary.yaml, as the agent writes it, that names a version whose target came with ``commit``."""
        key, snapshot = AppKey(self.namespace, self.name), snapshot_of(texts.template(self.name, tag))
        color = Color.BLUE if version % 2 else Color.GREEN
        date = datetime(2026, 1, 2, tzinfo=UTC)
        source = Source(commit, "Ada Pusher <ada@example.com>", date)
        text = render_primary(key, Version(version, snapshot, color, Stage.CANDIDATE, source, version, date))
        return {self.path("primary.yaml"): text.encode()}


MODELS = (BenchApp("model-ns", "model-app"), BenchApp("model-ns", "model-auto", auto=True))
"""One of each sort, for `stamping`: no other text contains these names."""


def make_apps(count: int, auto: int) -> list[BenchApp]:
    """So many apps in namespaces of a hundred; the first ``auto`` promote themselves."""
    return [BenchApp(f"team-{n // 100:03}", f"app-{n:05}", n < auto) for n in range(count)]

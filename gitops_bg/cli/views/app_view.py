"""All that people see of one app, read at one moment from the live objects. Decides nothing, draws nothing.

Two views are equal if nothing changed but the time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from gitops_bg.cli.errors import NameNotFound
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cli.views.app_row import Row, row_of
from gitops_bg.cli.views.pods import Pod, pods_of
from gitops_bg.cli.views.replica_sets import ReplicaSet, replica_sets_of
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.checks.versions import warm_until
from gitops_bg.core.model.analysis.runs import AnalysisRun
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import Strategy
from gitops_bg.core.model.version import AppKey, Stage, Version
from gitops_bg.spec.app.load import app_config_from_live
from gitops_bg.spec.manifests.configuration_changes import ConfigurationChange


@dataclass(frozen=True, slots=True)
class AppView:
    """One app. ``strategy`` is None where its live spec cannot be read."""

    row: Row
    gates: tuple[Mapping[str, Any], ...]
    record: Record
    strategy: Strategy | None
    services: tuple[tuple[str, ServiceView], ...]
    """The app's Services, each with its role."""
    replica_sets: tuple[ReplicaSet, ...]
    pods: tuple[Pod, ...]
    changes: tuple[ConfigurationChange, ...] = ()
    """How the configuration of the newest version differs from that of the live version."""

    @property
    def versions(self) -> list[Version]:
        """The versions, newest first."""
        return sorted(self.record.versions, key=lambda each: -each.number)

    @property
    def active(self) -> Version | None:
        """The version that serves live traffic."""
        return self.record.version(self.record.routing.traffic) if self.record.routing.traffic else None

    @property
    def newest(self) -> Version | None:
        """The candidate, or, if there is none, the active version: what Argo Rollouts calls updated."""
        coming = [each for each in self.versions if each.stage is Stage.CANDIDATE and not each.retiring]
        return next(iter(coming), self.active)

    def replica_sets_of(self, version: Version | None) -> list[ReplicaSet]:
        """Return the ReplicaSets of a version (None: none)."""
        return [each for each in self.replica_sets if version and each.digest == short(version.digest)]

    def pods_of(self, replica_set: ReplicaSet) -> Iterator[Pod]:
        """Yield the pods of a ReplicaSet."""
        return (pod for pod in self.pods if pod.digest == replica_set.digest)

    def runs_of(self, version: Version) -> list[AnalysisRun]:
        """Return the analysis runs of a version's present rollout, the newest last."""
        return [run for run in self.all_runs_of(version) if run.rollout == version.rollout]

    def all_runs_of(self, version: Version) -> list[AnalysisRun]:
        """Return all remembered analysis runs of a version, the newest last."""
        runs = (*self.record.analyses.past, *self.record.analyses.runs)
        return [run for run in runs if run.digest == version.digest]

    def warm_until(self, version: Version) -> datetime | None:
        """Return when a retired version is scaled to 0; None where no time says so, or the live spec cannot be read."""
        return warm_until(self.record, self.strategy, version) if self.strategy else None

    def version_of(self, short_digest: str) -> Version | None:
        """Return the version that a selector points to."""
        return next((each for each in self.record.versions if short(each.digest) == short_digest), None)


def look(session: LiveSession, app: AppKey) -> AppView:
    """Read all of it. Raises ``ObjectNotFound`` and the cluster's errors."""
    body = session.client.get(APPS, app.namespace, app.name)
    if body is None:
        raise NameNotFound(f"the cluster runs no app {app}")
    record, config = session.cluster.record(app), app_config_from_live(app, body)
    observed = session.cluster.observe(app, config, record)
    on_every_node = any(each.on_every_node for each in record.versions)
    active = (observed.active_service, *observed.more_active_services)
    roles = (*(("active", view) for view in active), ("preview", observed.preview_service))
    app_view = AppView(
        row=row_of(body),
        gates=tuple((body.get("status") or {}).get("gates") or ()),
        record=record,
        strategy=config.spec.strategy if config.spec else None,
        services=tuple((role, view) for role, view in roles if view is not None),
        replica_sets=replica_sets_of(session.cluster, app, daemon_sets=on_every_node),
        pods=tuple(pods_of(session.cluster, app)),
    )
    return replace(app_view, changes=_changes(session.cluster, app, app_view.active, app_view.newest))


def _changes(
    cluster: Cluster, app: AppKey, live: Version | None, newest: Version | None
) -> tuple[ConfigurationChange, ...]:
    if live is None or newest is None or live.snapshot.configuration == newest.snapshot.configuration:
        return ()
    from gitops_bg.cli.repository.restore_version import changes_to, live_side

    return changes_to(*(live_side(cluster, app, each.snapshot) for each in (live, newest)))

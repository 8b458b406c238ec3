"""Gathers all that is known of one app into the arguments of `decide`. Only reads; decides and writes nothing."""

from dataclasses import dataclass, replace
from datetime import datetime

from gitops_bg.agent.catalog import Catalog
from gitops_bg.agent.choosing import config_for, kept, too_many_gone
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.kinds import Object
from gitops_bg.core.decide import decide
from gitops_bg.core.decision import Decision
from gitops_bg.core.desired import Desired
from gitops_bg.core.model import AppKey
from gitops_bg.core.observed import Observed
from gitops_bg.core.record import Record
from gitops_bg.core.spec import AppSpec
from gitops_bg.core.world import World
from gitops_bg.spec.load import AppConfig


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is known of one app at one moment: the arguments of `decide`, and what carries out its answer."""

    app: AppKey
    spec: AppSpec
    desired: Desired
    observed: Observed
    record: Record
    config: AppConfig
    primary_blob: str | None
    decided_on: str = ""
    """The resourceVersion of the BlueGreenDeployment that the record was read from; empty where there is none."""

    def world(self, now: datetime) -> World:
        """The same as the core's own steps see it."""
        return World(self.spec, self.desired, self.observed, self.record, now)

    def decide(self, now: datetime) -> Decision:
        """What the engine says to it."""
        return decide(self.spec, self.desired, self.observed, self.record, now)


@dataclass(frozen=True, slots=True)
class Live:
    """What a cluster shows of an app, read now or earlier. ``manifest`` is its BlueGreenDeployment, if there is one."""

    manifest: Object | None
    record: Record
    observed: Observed
    decided_on: str = ""

    @classmethod
    def nothing(cls) -> "Live":
        """An app that the cluster does not have."""
        return cls(None, Record(), Observed())


def look(cluster: Cluster, app: AppKey, catalog: Catalog) -> Live:
    """Read an app from the cluster, compared with what main says of it."""
    seen = cluster.seen(app)
    manifest, record = seen.manifest, seen.record
    entry = catalog.entry(app)
    config = config_for(app, entry.config if entry else None, manifest, catalog.alerting)
    observed = cluster.observe(app, config, record) if config else Observed()
    return Live(manifest, record, observed, seen.version)


def facts_of(catalog: Catalog, app: AppKey, live: Live) -> Facts | None:
    """Main and what was seen live, as one; None for an app that neither of them describes."""
    knowledge = catalog.relation(app, live.record)
    entry = catalog.entry(app) if knowledge.counts else None
    config = config_for(app, entry.config if entry else None, live.manifest, catalog.alerting)
    if config is None or config.spec is None:
        return None
    return Facts(
        app=app,
        spec=config.spec,
        desired=catalog.desired(app, config, live.record, knowledge),
        observed=replace(live.observed, git=catalog.git_view(app)),
        record=live.record,
        config=config,
        primary_blob=entry.primary_blob if entry else None,
        decided_on=live.decided_on,
    )


def gather(catalog: Catalog, cluster: Cluster, app: AppKey) -> Facts | None:
    """Read everything; None for an app that neither Git nor the cluster has."""
    facts = facts_of(catalog, app, look(cluster, app, catalog))
    if facts is None or catalog.entry(app) or not facts.desired.knowledge.counts:
        return facts
    return replace(facts, spec=_unless_too_many_left(catalog, cluster, facts.spec))


def _unless_too_many_left(catalog: Catalog, cluster: Cluster, spec: AppSpec) -> AppSpec:
    live = [app for app in cluster.apps() if catalog.cares_for(app)]
    gone = len(set(live) - catalog.apps())
    return kept(spec) if too_many_gone(gone, len(live), catalog.settings.max_deleted_apps_percent) else spec

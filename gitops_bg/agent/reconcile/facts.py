"""Gathers all that is known of one app into the arguments of `decide`. Only reads; decides and writes nothing.

The description in force is main's or, where main has no readable one, the live object's: the last good state keeps
serving (DESIGN §10), with a broken ``app.yaml`` and with a folder that left main. The content of the ConfigMaps and
Secrets of a version comes from Git's files, then the live copies, then main's history. None of it is logged.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.reading import Reading
from gitops_bg.agent.groups.members import reading_for, why_awaited
from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core import names
from gitops_bg.core.checks.auxiliary import has_http_route, with_formers
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.engine import decide
from gitops_bg.core.errors import Refused, Transient
from gitops_bg.core.groups.record import MemberState
from gitops_bg.core.model.actions import CommitPrimary, GitAction, OfferPromotion
from gitops_bg.core.model.auxiliary import RivalRoute
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.desired import Desired, Problem
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.observed import Observed
from gitops_bg.core.model.policy_facts import Others
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import AppSpec, DeletionPolicy, Strategy
from gitops_bg.core.model.version import AppKey, Version
from gitops_bg.core.status.alike import RecordUnreadable
from gitops_bg.core.world import World
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import folder_of
from gitops_bg.spec.app.load import AppConfig, app_config_from_live
from gitops_bg.spec.app.primary import configuration_in
from gitops_bg.spec.app.to_core import NO_ALERTING
from gitops_bg.spec.manifests.configuration import Configuration, find
from gitops_bg.spec.notifications import Alerting, alerts_of

FEW = 2
"""This many apps may always leave at once, whatever share of all they are."""


def config_for(
    app: AppKey, from_git: AppConfig | None, live: Object | None, alerting: Alerting = NO_ALERTING
) -> AppConfig | None:
    """Return the description in force; None where neither main nor the cluster describes the app.

    ``alerting`` is what main says of alerts, whatever is wrong with the app.
    """
    if from_git and from_git.spec and from_git.target:
        return from_git
    folder, environment = (from_git.folder, from_git.environment) if from_git else ("", "")
    remembered = app_config_from_live(app, live, alerting, folder, environment) if live else None
    if from_git and from_git.spec:
        return _with_ready_seconds_of(remembered, from_git, from_git.spec)
    if from_git is None:
        return remembered if remembered and remembered.spec else None
    if remembered and remembered.spec:
        return replace(from_git, spec=remembered.spec, body=remembered.body)
    return _only_to_carry_the_condition(app, from_git, alerting)


def _with_ready_seconds_of(remembered: AppConfig | None, from_git: AppConfig, spec: AppSpec) -> AppConfig:
    """Keep the live ``minReadySeconds`` where a broken target does not state it."""
    key = "minReadySeconds"
    if remembered is None or remembered.spec is None or key in from_git.body or key not in remembered.body:
        return from_git
    body = {**from_git.body, key: remembered.body[key]}
    return replace(from_git, body=body, spec=replace(spec, min_ready_seconds=remembered.spec.min_ready_seconds))


def _only_to_carry_the_condition(app: AppKey, from_git: AppConfig, alerting: Alerting) -> AppConfig:
    """Return an app that never ran: its object exists so that `kubectl get` shows what is wrong with its file.

    Recipients of alerts for every app are notified as well.
    """
    strategy = Strategy(active_service=app.name, hooks=alerts_of(app, None, alerting.document, alerting).hooks)
    body = {"strategy": {"blueGreen": {"activeService": app.name}}}
    return replace(from_git, spec=AppSpec(app, strategy), body=body, target=None, primary=None)


def too_many_gone(gone: int, live: int, most_percent: int) -> bool:
    """Return whether so many apps left main that it looks like an accident: then none of them is deleted (gitops.md
    §1).
    """
    return gone > FEW and gone * 100 > most_percent * live


def kept(spec: AppSpec) -> AppSpec:
    """Return the same app, not to be deleted."""
    return replace(spec, deletion_policy=DeletionPolicy.KEEP)


Noted = Callable[[AppKey, Record], Record]
"""Returns the record to decide on, given the live one of an app."""


def as_saved(_app: AppKey, record: Record) -> Record:
    """Decide on the live record."""
    return record


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is known of one app at one moment: the arguments of `decide`, and what its actions need."""

    app: AppKey
    spec: AppSpec
    desired: Desired
    observed: Observed
    record: Record
    config: AppConfig
    decided_on: str = ""
    """The resourceVersion of the BlueGreenDeployment that the record was read from; empty where there is none."""

    @property
    def subject(self) -> AppKey:
        """Whose facts these are."""
        return self.app

    @property
    def commit(self) -> str:
        """The commit of main that is decided on."""
        return self.desired.commit

    @property
    def decided_from(self) -> str:
        """The commit of main whose files of the app were read; empty where none were, so that nothing
        overwrites them.
        """
        return self.desired.commit if self.desired.tree else ""

    @property
    def offered_head(self) -> str:
        """The head of the promotion branch that was read; empty where there is no branch."""
        branch = self.observed.git.promotion
        return branch.commit if branch is not None else ""

    @property
    def policies(self) -> tuple[Policy, ...]:
        """All policies that are asked."""
        policing = self.desired.policing
        return policing.all_policies if policing is not None else ()

    def with_others(self, others: Others) -> "Facts":
        """Return the facts with what is known of those that the policies ask about."""
        policing = self.desired.policing
        if policing is None or policing.others == others:
            return self
        return replace(self, desired=replace(self.desired, policing=replace(policing, others=others)))

    def world(self, now: datetime) -> World:
        """Return the same facts as the core's steps see them."""
        return World(self.spec, self.desired, self.observed, self.record, now)

    def decide(self, now: datetime) -> Decision:
        """Return what the engine decides on these facts."""
        return decide(self.spec, self.desired, self.observed, self.record, now)


@dataclass(frozen=True, slots=True)
class Live:
    """What a cluster shows of an app, now or earlier. ``manifest`` is its BlueGreenDeployment, if there is one."""

    manifest: Object | None
    record: Record
    observed: Observed
    decided_on: str = ""
    pull: PullRequest | None = None
    """The pull request that its status names."""
    formers: tuple[str, ...] = ()
    """The names that the app had before the one that its file says (``Adoption.formers``)."""
    left: tuple[Problem, ...] = ()
    """The active Services that no file of the folder describes any more (`Cluster.left_manifests`)."""

    @classmethod
    def nothing(cls) -> "Live":
        """Return an app that the cluster does not have."""
        return cls(None, Record(), Observed())


def read_app(
    catalog: Catalog, cluster: Cluster, app: AppKey, reading: Reading, now: datetime, noted: Noted = as_saved
) -> Live:
    """Read an app from the cluster, compared with what main says of it."""
    seen = cluster.seen(app)
    manifest, record = seen.manifest, noted(app, seen.record)
    config = _config(catalog, reading, app, manifest, record, counts=True)
    left = cluster.left_manifests(config) if config is not None else ()
    config = _without_left(config, left) if config is not None else None
    formers = former_names(cluster, reading, config) if config else ()
    observed = cluster.observe(app, _knowing(config, formers, reading), record, now) if config else Observed()
    observed = replace(observed, rivals=_with_formers(cluster, reading, app, observed.rivals))
    return Live(manifest, record, observed, seen.version, seen.pull, formers, left)


def _without_left(config: AppConfig, left: tuple[Problem, ...]) -> AppConfig:
    """Return the description in which nothing is known of Services whose manifests left: they stay as they are."""
    return replace(config, problems=(*config.problems, *left), whole=False) if left else config


def _with_formers(
    cluster: Cluster, reading: Reading, app: AppKey, rivals: tuple[RivalRoute, ...]
) -> tuple[RivalRoute, ...]:
    """Return the routes of others, marked where their owner left main."""
    if not any(each.app or each.group for each in rivals):
        return rivals
    apps = [each for each in cluster.apps(app.namespace) if reading.has_left(each)]
    groups = cluster.groups(app.namespace) if any(each.group for each in rivals) else []
    return with_formers(rivals, apps, [each.name for each in groups if reading.group_has_left(each)])


def former_names(cluster: Cluster, reading: Reading, config: AppConfig) -> tuple[str, ...]:
    """Return the names under which the app may serve still, before the one that its file says: those of apps without a
    folder whose records say that they are that one, or this (docs/decisions/0070).
    """
    adopt, app = config.spec.adopt if config.spec else None, config.app
    if adopt is None or not adopt.app:
        return ()
    beside = (each for each in cluster.apps(app.namespace) if each != app)
    left = {each.name: _moved_to(cluster, each) for each in beside if reading.entry(each) is None}
    known = [adopt.app]
    while more := [name for name, to in left.items() if to in (app.name, *known) and name not in known]:
        known += more
    return tuple(known[1:])


def _moved_to(cluster: Cluster, app: AppKey) -> str:
    try:
        return cluster.record(app).last_read.moved_to
    except RecordUnreadable:
        return ""


def _knowing(config: AppConfig, formers: tuple[str, ...], reading: Reading | None) -> AppConfig:
    """Return the description with the names that the app had before the one that it says, and which of all have left
    main; none for sure, where there is no reading that counts.
    """
    spec = config.spec
    if spec is None or spec.adopt is None or not spec.adopt.app:
        return config
    adopt, namespace = replace(spec.adopt, formers=formers), config.app.namespace
    left = tuple(name for name in adopt.names if reading and reading.has_left(AppKey(namespace, name)))
    return replace(config, spec=replace(spec, adopt=replace(adopt, left=left)))


def facts_of(catalog: Catalog, reading: Reading, app: AppKey, live: Live) -> Facts | None:
    """Combine main and the live state; None for an app that neither of them describes."""
    main = catalog.main_read(reading, app, live.record.git.main, live.record.git.lost)
    config = _config(catalog, reading, app, live.manifest, live.record, counts=main.counts)
    if config is not None:
        config = _knowing(config, live.formers, reading if main.counts else None)
        config = _without_left(config, live.left)
    if config is None or config.spec is None:
        return None
    desired = catalog.desired(reading, app, config, live.record, main)
    merges = catalog.policing.merges(reading, app, desired, live.record)
    git = replace(catalog.git_view(reading, app, live.pull), merges=merges)
    return Facts(
        app=app,
        spec=config.spec,
        desired=desired,
        observed=replace(live.observed, git=git),
        record=live.record,
        config=config,
        decided_on=live.decided_on,
    )


def _config(
    catalog: Catalog, reading: Reading, app: AppKey, live: Object | None, record: Record, *, counts: bool
) -> AppConfig | None:
    """Return the description in force: main's where it ``counts``, else the live one."""
    entry = reading.entry(app) if counts else None
    config = config_for(app, entry.config if entry else None, live, reading.alerting)
    return None if config is None else catalog.pinned(reading, app, config, record)


def gather(catalog: Catalog, cluster: Cluster, app: AppKey, now: datetime, noted: Noted = as_saved) -> Facts | None:
    """Read everything about an app, with one reading of main; None for an app that neither Git nor the cluster has.

    ``noted`` adds to the live record what was noted since. Raises as `Cluster.demand_known`.
    """
    cluster.demand_known(app.namespace)
    state = catalog.member_state_of(app)
    reading = reading_for(catalog.reading, app, state)
    facts = facts_of(catalog, reading, app, read_app(catalog, cluster, app, reading, now, noted))
    if facts is not None and state is not None:
        return _as_member(facts, state, in_main=reading.entry(app) is not None)
    if facts is None or reading.entry(app) or not facts.desired.knowledge.counts:
        return facts
    if facts.spec.deletion_policy is DeletionPolicy.KEEP or not (why := _why_kept(catalog, cluster, reading, facts)):
        return facts
    return replace(facts, spec=kept(facts.spec), desired=replace(facts.desired, kept=why))


def _why_kept(catalog: Catalog, cluster: Cluster, reading: Reading, facts: Facts) -> str:
    """Return why an app whose folder left main may have left by accident, or who is to answer its requests first; empty
    where nothing speaks for that.
    """
    app = facts.app
    if why := why_accident(catalog, cluster, reading) or _why_awaited(cluster, reading, facts):
        return why
    unread = (each for each in reading.unread(app.namespace) if not _serves(cluster, each))
    other = None if app in reading.moved else min(unread, default=None)
    return f"{folder_of(other)} cannot be read, and may say that it is this app (adopt.app)" if other else ""


def _why_awaited(cluster: Cluster, reading: Reading, facts: Facts) -> str:
    """Return who says the requests of the app in main now, and does not answer them yet; empty where nobody is waited
    for.
    """
    ends = facts.spec.deletion_policy is DeletionPolicy.DELETE and not facts.desired.moved_to
    if not ends or not has_http_route(facts.record):
        return ""
    routes, label = cluster.sources.auxiliary_objects.http_routes(facts.app.namespace), names.app_label(facts.app)
    own = [each for each in routes if each.app == label]
    return why_awaited(cluster, reading, facts.app.namespace, own, (each for each in routes if each.app != label))


def why_accident(catalog: Catalog, cluster: Cluster, reading: Reading) -> str:
    """Return why so many apps left main that it looks like an accident, or may have; empty where it does not."""
    if not cluster.caches.knows_all:
        return "not all namespaces can be read, so nobody can say how many apps left"
    live = frozenset(filter(catalog.cares_for, cluster.apps()))
    gone = sum(reading.found(each) is None for each in live)
    if too_many_gone(gone, len(live), reading.settings.max_deleted_apps_percent):
        return f"{gone} of {len(live)} apps left (maxDeletedAppsPercent)"
    return ""


def _serves(cluster: Cluster, app: AppKey) -> bool:
    """Return whether an app has live traffic of its own, and so is no other one under a new name, or under the one
    before.
    """
    try:
        record = cluster.record(app)
        return bool(record.routing.traffic) and record.moved_at is None
    except RecordUnreadable:
        return True


def _as_member(facts: Facts, state: MemberState, *, in_main: bool) -> Facts:
    if in_main:
        # Another Service of its app.yaml carries no version in its name: requests may reach it unasked.
        own = facts.spec.strategy.active_services == (facts.app.name,)
        waits_for_group = state is MemberState.CANDIDATE and own
        return replace(facts, desired=replace(facts.desired, in_candidate=waits_for_group))
    policy = DeletionPolicy.DELETE if state is MemberState.DELETED else DeletionPolicy.KEEP
    return replace(facts, spec=replace(facts.spec, deletion_policy=policy))


def contents_for(facts: Facts, actions: Iterable[GitAction], cluster: Cluster) -> tuple[Configuration, ...]:
    """Return the configuration of the versions that these actions name, as far as Git's files or the live copies have
    it.
    """
    named = [each.version for each in actions if isinstance(each, CommitPrimary | OfferPromotion)]
    return tuple(each for version in named for each in _at_hand(facts, version, cluster))


def _at_hand(facts: Facts, version: Version, cluster: Cluster) -> Iterator[Configuration]:
    for ref in version.snapshot.configuration:
        found = find(facts.config.configuration, ref)
        if found is None:
            try:
                found = cluster.executor.copies.held(facts.app, ref)
            except (Refused, Transient):
                continue  # Main's history may have it; where it has not, the commit says what is missing.
        yield found


def completed(
    repository: Repository, app: AppKey, version: Version, known: Sequence[Configuration]
) -> Sequence[Configuration]:
    """Complete the ``known`` configuration of a version with what main's primary.yaml once had."""
    if all(find(known, ref) for ref in version.snapshot.configuration):
        return known
    content = repository.find_primary(app, digest=version.digest)
    return (*known, *configuration_in(content or b"", app))

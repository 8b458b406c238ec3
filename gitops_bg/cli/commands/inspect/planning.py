"""What the agent would do with apps and release groups, by one reading of main and of what is live: decisions of the
engine.

It writes nothing, and draws nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.document_caches import asks_about_others
from gitops_bg.agent.desired.peers import RolloutRegistry
from gitops_bg.agent.groups.facts import GroupFacts, GroupGatherer
from gitops_bg.agent.groups.leaving import LeftFacts
from gitops_bg.agent.reconcile.apps import Since, knowing_one_another
from gitops_bg.agent.reconcile.facts import Facts, Live, facts_of, read_app
from gitops_bg.cli.errors import CommandFailed, NameNotFound, ObjectNotFound, UsageError
from gitops_bg.cli.session.agent_knowledge import as_the_agent_knows
from gitops_bg.cli.session.session import Session, asking_for, board_of_all, group_facts, group_in_git
from gitops_bg.cluster.api.errors import Forbidden, no_namespace
from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.groups.forecast import Forecast, forecast
from gitops_bg.core.groups.record import GroupDecision, GroupRecord
from gitops_bg.core.model.conditions import READY, Phase
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, ReleaseId
from gitops_bg.views.plan import Planned, PlannedGroup, PlannedSubject

_TO_BE_MADE = "planned"
"""The uid of an object that the first action creates."""


@dataclass(frozen=True, slots=True)
class PlanOfApp:
    """What would be done with one app."""

    facts: Facts
    steps: tuple[Decision, ...]

    @property
    def app(self) -> AppKey:
        """The app."""
        return self.facts.app

    @property
    def last(self) -> Decision:
        """The decision that says what the app waits for."""
        return self.steps[-1]

    def _named(self, release: ReleaseId) -> ReleaseId:
        """Return a release with its number: of the first environment not main knows it, but its version here."""
        known = (each.release for each in self.facts.record.versions)
        return next((each for each in known if each and each.number and each.digest == release.digest), release)

    @property
    def shown(self) -> PlannedSubject:
        """The same as plain data."""
        actions = tuple(action for step in self.steps for action in step.actions)
        unread, last = self.facts.observed.git.unreachable, self.last
        obstacle = self.facts.observed.refused or (f"the agent cannot read main: {unread}" if unread else "")
        problems = self.facts.desired.problems
        target = self.facts.desired.target
        release = self._named(target.release).name if target and target.release else ""
        return PlannedSubject(
            self.app, last.phase, actions, last.gates, problems, obstacle, last.wake_at, last.environment, release
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole plan, of one commit of main."""

    commit: str
    apps: tuple[PlanOfApp, ...]
    groups: tuple[PlannedGroup, ...]
    """None where single apps are asked about, or what is live comes from a file: that has apps only."""
    live: dict[AppKey, Live]
    """What was seen of each app."""
    unchanged: int = 0
    """For how many apps and groups it is as it was before; they are left out."""

    def beyond(self, before: "Plan") -> "Plan":
        """Return the plan without the apps and groups for which it is as it was before."""
        was = before.outcomes
        changed = {key for key, outcome in self.outcomes.items() if was.get(key) != outcome}
        unchanged = len(self.outcomes) - len(changed)
        apps = tuple(each for each in self.apps if each.app in changed)
        groups = tuple(each for each in self.groups if each.group in changed)
        return replace(self, apps=apps, groups=groups, unchanged=unchanged)

    @property
    def shown(self) -> Planned:
        """The same as plain data, for forges."""
        return Planned(self.commit, (*(each.shown for each in self.apps), *(each.shown for each in self.groups)))

    @property
    def outcomes(self) -> dict[AppOrGroup, tuple[object, ...]]:
        """What would be done with each app and group."""
        of_apps = {each.app: each.shown.outcome for each in self.apps}
        return of_apps | {each.group: each.outcome for each in self.groups}


@dataclass(frozen=True, slots=True)
class PlanScope:
    """Which apps and groups a plan is of."""

    names: tuple[str, ...] = ()
    """Of apps and groups; none: all of them."""
    namespace: str = ""
    groups_only: bool = False
    version: str = ""
    """As if the group that is named asked for this one."""
    may_lack: bool = False
    """Whether main may lack what is named: it is compared with another main, which may have it."""


def plan_of(session: Session, live: dict[AppKey, Live] | None, scope: PlanScope, note: Callable[[str], None]) -> Plan:
    """Return the plan that is asked for. ``live`` is asked instead of the cluster, if given. ``note`` is told why
    groups are left out. Raises `NameNotFound`, and `ObjectNotFound` where a name is of several.
    """
    records = None if live is None else [each.record for each in live.values()]
    catalog = session.catalog([scope.namespace] if scope.namespace else [], records)
    chosen, of_groups = _chosen(session, catalog, live, scope)
    seen = {app: _seen(session, catalog, live, app) for app in chosen}
    apps = tuple(PlanOfApp(facts, tuple(steps)) for facts, steps in _plans(session, catalog, live, seen))
    named = not scope.names or bool(of_groups)
    groups = _of_groups(session, catalog, live, replace(scope, names=of_groups), note) if named else ()
    return Plan(catalog.commit, apps, groups, seen)


def _of_groups(
    session: Session,
    catalog: Catalog,
    live: dict[AppKey, Live] | None,
    scope: PlanScope,
    note: Callable[[str], None],
) -> tuple[PlannedGroup, ...]:
    if live is not None:
        if scope.names:
            raise UsageError("what is live of release groups is not in the file of --observed")
        if catalog.reading.groups:
            note("release groups are left out: what is live of them is not in the file")
        return ()
    try:
        return plans_of_groups(session, scope.namespace, scope.names, scope.version, may_lack=scope.may_lack)
    except Forbidden as error:  # Who asks may have no groups.
        if scope.names:
            raise
        note(f"release groups are left out: {error}")
        return ()


def _chosen(
    session: Session, catalog: Catalog, live: dict[AppKey, Live] | None, scope: PlanScope
) -> tuple[list[AppKey], tuple[str, ...]]:
    """Return the apps to plan, and the names of groups: those that no app has, and that main has a group of."""
    if scope.groups_only:
        return [], scope.names
    there = set(live) if live is not None else set(session.cluster.apps())
    known = catalog.apps() | {app for app in there if catalog.cares_for(app)}
    if not scope.names:
        return sorted(known), ()
    groups = {name for group in catalog.reading.groups for name in (group.name, str(group))}
    of_apps = {name for name in scope.names for app in known if name in (app.name, str(app))}
    of_groups = [name for name in scope.names if name in groups and name not in of_apps]
    others = [name for name in scope.names if name not in of_groups and not (scope.may_lack and name not in of_apps)]
    if scope.names == tuple(of_groups[:1]):  # The verb of groups reads the place that a group names (`About`).
        raise NameNotFound(f"no app is called {of_groups[0]}")
    return sorted({_named(name, known) for name in others}), tuple(dict.fromkeys(of_groups))


def _named(name: str, known: set[AppKey] | frozenset[AppKey]) -> AppKey:
    found = sorted(app for app in known if name in (app.name, str(app)))
    if not found:
        raise NameNotFound(f"no app is called {name}")
    if len(found) > 1:
        raise ObjectNotFound(f"more than one app is called {name}: {', '.join(map(str, found))}")
    return found[0]


def _seen(session: Session, catalog: Catalog, live: dict[AppKey, Live] | None, app: AppKey) -> Live:
    if live is None:
        return read_app(catalog, session.cluster, app, catalog.reading, session.now)
    return live.get(app) or Live.nothing()


def _plans(
    session: Session, catalog: Catalog, live: dict[AppKey, Live] | None, seen: dict[AppKey, Live]
) -> Iterator[tuple[Facts, list[Decision]]]:
    """Yield what would be done with each app that was ``seen``; others are read only if a policy asks about them.
    Where ``live`` is given, nobody can say how groups are.
    """
    as_known = as_the_agent_knows if live is not None else session.as_the_agent_knows
    now, planned = session.now, [each for app in seen if (each := _facts(catalog, app, seen[app], as_known))]
    if any(asks_about_others(facts.policies) for facts in planned):
        others = {app: _seen(session, catalog, live, app) for app in sorted(catalog.apps() - seen.keys())}
        beside = [each for app in others if (each := _facts(catalog, app, others[app], as_known))]
        if live is None:
            session.register_groups(catalog)
        else:
            for group in catalog.reading.groups:
                catalog.board.failed(group)
        planned = knowing_one_another(catalog.board, [*planned, *beside], now, _since(session, live))[: len(planned)]
    return ((facts, list(_steps(facts, now))) for facts in planned)


def _facts(
    catalog: Catalog, app: AppKey, live: Live, as_known: Callable[[Facts, Object | None], Facts]
) -> Facts | None:
    facts = facts_of(catalog, catalog.reading, app, live)
    return as_known(facts, live.manifest) if facts else None


def _since(session: Session, live: dict[AppKey, Live] | None) -> Since:
    return session.cluster.since if live is None else lambda _app, _condition: None


def _steps(facts: Facts, now: datetime) -> Iterator[Decision]:
    """Yield the decision; for an app without an object also the next one, which names what is deployed."""
    first = facts.decide(now)
    yield first
    if not facts.observed.app_uid and first.actions:
        made = replace(facts, observed=replace(facts.observed, app_uid=_TO_BE_MADE))
        yield made.decide(now)


def plans_of_groups(
    session: Session, namespace: str, names: Sequence[str] = (), version: str = "", *, may_lack: bool = False
) -> tuple[PlannedGroup, ...]:
    """Return the plan of each group of main that is named (as if it asked for a ``version``, if one is given); of none:
    of all, and of each live one that follows main, in a namespace (empty: all). Where main ``may_lack`` one that is
    named, what becomes of the live one, if there is one.

    Of all, one that nobody can read stops no other: its plan says why. Raises `Forbidden` for who may not list groups,
    and the errors of a repository that cannot be read.
    """
    if names and not may_lack:
        groups = sorted({group_in_git(session, name, namespace) for name in names})
        return tuple(_as_if(group_facts(session, group), version, session.now) for group in groups)
    catalog = session.catalog([namespace] if namespace else [], of_groups=True)
    looks, live = _GroupReader(session, catalog), session.cluster.release_groups
    known = catalog.reading.groups.keys() | live.live([namespace] if namespace else [])
    chosen = sorted(group for group in known if not names or group.name in names or str(group) in names)
    if version:
        chosen = [group for group in chosen if group in catalog.reading.groups]
        return tuple(_as_if(group_facts(session, group), version, session.now) for group in chosen)
    return tuple(map(looks.plan, chosen))


class _GroupReader:
    """Looks at one group after the other."""

    def __init__(self, session: Session, catalog: Catalog) -> None:
        self._session = session
        self._catalog = catalog
        self._gatherer = GroupGatherer(catalog, session.cluster)

    def plan(self, group: GroupKey) -> PlannedGroup:
        """Return the plan of one."""
        lacks = no_namespace(group.namespace) if self._session.lacks_namespace(group.namespace) else ""
        try:
            facts = self._gatherer.gather(self._catalog.reading, group, self._session.now)
            if facts is None:
                raise CommandFailed("main does not count, and nobody can read what the main before said of the group")
            if isinstance(facts, LeftFacts):
                return self._of_left(facts)
            if asks_about_others(facts.policies):
                facts = facts.with_others(self._board.others(facts.policies, group))
            return replace(planned_group(facts, self._session.now), refused=lacks)
        except GitopsBgError as error:
            decision = GroupDecision((), GroupRecord(), Phase.DEGRADED)
            return self._without_folder(group, decision, refused=lacks or str(error))

    @cached_property
    def _board(self) -> RolloutRegistry:
        return board_of_all(self._session).board

    def _of_left(self, facts: LeftFacts) -> PlannedGroup:
        """Return the plan of a live group whose folder left main."""
        decision = facts.decide(self._session.now)
        becomes = next(each.message for each in decision.conditions if each.type == READY)
        return replace(self._without_folder(facts.group, decision), left=becomes)

    def _without_folder(self, group: GroupKey, decision: GroupDecision, *, refused: str = "") -> PlannedGroup:
        actions, nothing = tuple[object, ...](decision.actions), Forecast(None, (), {})
        now, commit = self._session.now, self._catalog.commit
        return PlannedGroup(group, commit, (), actions, decision, nothing, now, refused=refused)


def _as_if(facts: GroupFacts, version: str, now: datetime) -> PlannedGroup:
    asking = asking_for(facts, version)
    return planned_group(asking, now, asked_for=version if asking is not facts else "")


def planned_group(facts: GroupFacts, now: datetime, *, asked_for: str = "") -> PlannedGroup:
    """Return what would be done with one group, and what becomes of it. ``asked_for`` as in `PlannedGroup`."""
    steps = list(_steps_of_group(facts, now))
    record = steps[-1].record
    ahead = forecast(facts.group, facts.desired, facts.observed, record, now)
    actions = tuple[object, ...](action for step in steps for action in step.actions)
    desired = facts.desired
    return PlannedGroup(facts.group, desired.commit, desired.problems, actions, steps[-1], ahead, now, asked_for)


def _steps_of_group(facts: GroupFacts, now: datetime) -> Iterator[GroupDecision]:
    """Yield the decision; of a group without an object also the next one, which names what is registered."""
    first = facts.decide(now)
    yield first
    if not facts.observed.uid and first.actions:
        yield replace(facts, observed=replace(facts.observed, uid=_TO_BE_MADE)).decide(now)

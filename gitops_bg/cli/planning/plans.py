"""What the agent would do with apps and groups, by one reading of main and of what is live: decisions of the engine.

It writes nothing, and draws nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.policy_shelf import asks_about_others
from gitops_bg.agent.reconcile.facts import Facts, Live, facts_of, look
from gitops_bg.agent.reconcile.peer_facts import Since, knowing_one_another
from gitops_bg.cli.errors import NameNotFound, ObjectNotFound, UsageError
from gitops_bg.cli.planning.group_plans import plans_of_groups
from gitops_bg.cli.planning.planned import Planned, PlannedSubject
from gitops_bg.cli.session.agent_knowledge import as_the_agent_knows
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.planned_group import PlannedGroup
from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.version import AppKey, AppOrGroup

_TO_BE_MADE = "planned"
"""The uid of a BlueGreenDeployment that the first action creates."""


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

    @property
    def shown(self) -> PlannedSubject:
        """The same as plain data."""
        actions = tuple(action for step in self.steps for action in step.actions)
        unread, last = self.facts.observed.git.unreachable, self.last
        obstacle = self.facts.observed.refused or (f"the agent cannot read main: {unread}" if unread else "")
        problems = self.facts.desired.problems
        return PlannedSubject(self.app, last.phase, actions, last.gates, problems, obstacle, last.wake_at)


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
    """The apps to plan, and the names of groups: those that no app has, and that main has a group of."""
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
        return look(catalog, session.cluster, app, catalog.reading, session.now)
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
            session.note_groups(catalog)
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

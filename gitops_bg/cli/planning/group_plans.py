"""What the agent would do with release groups, by one reading of main and of what is live: decisions of the engine.

It writes nothing, and draws nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.peers import PeerBoard
from gitops_bg.agent.desired.policy_shelf import asks_about_others
from gitops_bg.agent.groups.facts import GroupFacts, GroupGatherer
from gitops_bg.agent.groups.leaving import LeftFacts
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.session.session import Session, asking_for, board_of_all, group_facts, group_in_git
from gitops_bg.cli.views.groups.planned_group import PlannedGroup
from gitops_bg.cluster.api.remedies import no_namespace
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.inspect.forecast import Forecast, forecast
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.status.kstatus import READY

_TO_BE_MADE = "planned"
"""The uid of a ReleaseGroup that the first action creates."""


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
    looks, live = _Looks(session, catalog), session.cluster.release_groups
    known = catalog.reading.groups.keys() | live.live([namespace] if namespace else [])
    chosen = sorted(group for group in known if not names or group.name in names or str(group) in names)
    if version:
        chosen = [group for group in chosen if group in catalog.reading.groups]
        return tuple(_as_if(group_facts(session, group), version, session.now) for group in chosen)
    return tuple(map(looks.plan, chosen))


class _Looks:
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
    def _board(self) -> PeerBoard:
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
    steps = list(_steps(facts, now))
    record = steps[-1].record
    ahead = forecast(facts.group, facts.desired, facts.observed, record, now)
    actions = tuple[object, ...](action for step in steps for action in step.actions)
    desired = facts.desired
    return PlannedGroup(facts.group, desired.commit, desired.problems, actions, steps[-1], ahead, now, asked_for)


def _steps(facts: GroupFacts, now: datetime) -> Iterator[GroupDecision]:
    """Yield the decision; of a group without an object also the next one, which names what is registered."""
    first = facts.decide(now)
    yield first
    if not facts.observed.uid and first.actions:
        yield replace(facts, observed=replace(facts.observed, uid=_TO_BE_MADE)).decide(now)

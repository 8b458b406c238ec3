"""What the agent would do with release groups, by one reading of main and of what is live: decisions of the engine.

It writes nothing, and draws nothing.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.cli.session.group_session import all_group_facts
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.planned_group import PlannedGroup
from gitops_bg.cluster.api.remedies import no_namespace
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.inspect.forecast import forecast

_TO_BE_MADE = "planned"
"""The uid of a ReleaseGroup that the first action creates."""


def plans_of_groups(session: Session, namespace: str) -> tuple[PlannedGroup, ...]:
    """Return the plan of each group of main in a namespace (empty: all). Raises as `all_group_facts` does."""
    planned = (planned_group(facts, session.now) for facts in all_group_facts(session, namespace))
    return tuple(
        replace(each, refused=no_namespace(each.group.namespace))
        if session.lacks_namespace(each.group.namespace)
        else each
        for each in planned
    )


def planned_group(facts: GroupFacts, now: datetime, *, asked_for: str = "") -> PlannedGroup:
    """Return what would be done with one group, and what becomes of it. ``asked_for`` as in `PlannedGroup`."""
    steps = list(_steps(facts, now))
    record = steps[-1].record
    ahead = forecast(facts.group, facts.desired, facts.observed, record, now)
    actions = tuple(str(action) for step in steps for action in step.actions)
    desired = facts.desired
    return PlannedGroup(facts.group, desired.commit, desired.problems, actions, steps[-1], ahead, now, asked_for)


def _steps(facts: GroupFacts, now: datetime) -> Iterator[GroupDecision]:
    """Yield the decision; of a group without an object also the next one, which names what is registered."""
    first = facts.decide(now)
    yield first
    if not facts.observed.uid and first.actions:
        yield replace(facts, observed=replace(facts.observed, uid=_TO_BE_MADE)).decide(now)

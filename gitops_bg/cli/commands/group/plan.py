"""`group plan`: what main, the branch of a pull request, or another `active` would do to the live group now.

Writes nothing.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import typer

from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.cli.commands.group.arguments import Group, a_version_or_none
from gitops_bg.cli.errors import ObjectNotFound
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.options import AppOptions
from gitops_bg.cli.session.group_session import group_facts, group_in_git
from gitops_bg.cli.session.location import group_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.planned_group import PlannedGroup, drawn_plan, json_plan
from gitops_bg.cli.views.output import Output
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.inspect.forecast import forecast

_TO_BE_MADE = "planned"
"""The uid of a ReleaseGroup that the first action creates."""


def plan(
    group: Group,
    at: AppOptions,
    version: Annotated[
        str,
        typer.Argument(
            parser=a_version_or_none,
            metavar="[VERSION]",
            autocompletion=completion.group_versions,
            help="As if group.yaml asked for it; none: as it does.",
        ),
    ] = "",
) -> None:
    """Show what would be done to a group now, changing nothing: moves, gates, and who answers which request then.

    With --branch it is for the pull request of a branch, with VERSION as if group.yaml asked for that.

    Example: gitops-bg group plan shop/store v2
    """
    output, about = Output(at.out), replace(group_named(group), if_branch=True)
    with Session(at.git, at.kube, at.place, about=about, note=output.note) as session:
        facts = group_facts(session, group_in_git(session, group, at.place.namespace))
        asking = _asking_for(facts, version)
        found = _planned(asking, session.now, asked_for=version if asking is not facts else "")
    if output.json:
        output.data(json_plan(found))
    else:
        output.show(drawn_plan(found))


def _asking_for(facts: GroupFacts, version: str) -> GroupFacts:
    """Return the facts as if group.yaml asked for a version; policies are not asked then: nobody has promoted it."""
    spec = facts.desired.spec
    if not version or spec is None or spec.active == version:
        return facts
    if version not in facts.desired.versions:
        raise ObjectNotFound(
            f"main has no version {version} of {facts.group}; it has {', '.join(facts.desired.versions)}"
        )
    return replace(facts, desired=replace(facts.desired, spec=replace(spec, active=version), policing={}))


def _planned(facts: GroupFacts, now: datetime, asked_for: str) -> PlannedGroup:
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

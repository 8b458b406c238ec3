"""Why a group is as it is: what `group explain` shows, as text for a terminal of 80 columns and as JSON. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from gitops_bg.cli.options.quick_values import spoken
from gitops_bg.cli.views.app_row import style_of
from gitops_bg.cli.views.condition_meanings import drawn, json_of
from gitops_bg.cli.views.explained import ShownGate, gate_table, json_of_statements, statement_lines, telling
from gitops_bg.cli.views.listing import Column, Line, Listing, facts, paragraph
from gitops_bg.cli.views.output import said
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.model import Endpoint, GroupVersion, VersionStage, version_in
from gitops_bg.core.groups.observed import Member, ObservedGroup
from gitops_bg.core.groups.world import UNKNOWN_MEMBER, member_name
from gitops_bg.core.inspect.outlook import Outlook, has_served, outlook_of, serving_in
from gitops_bg.core.model.git.pulls import PullRequest, PullState
from gitops_bg.core.model.statements import Statements
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.status.group_meanings import GROUP_MEANINGS
from gitops_bg.core.status.meanings import troubles
from gitops_bg.spec.codec import to_json

if TYPE_CHECKING:
    from gitops_bg.cli.printed.groups import ExplainedVersionJson, GroupExplanationJson, MemberJson, PullJson

_STAGES = {VersionStage.ACTIVE: "green", VersionStage.CANDIDATE: "cyan", VersionStage.LEGACY: "yellow"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The engine's decision on fresh facts."""

    group: GroupKey
    desired: DesiredGroup
    observed: ObservedGroup
    decision: GroupDecision
    now: datetime

    @property
    def active(self) -> str:
        """The version that serves; empty if none does."""
        return self.decision.record.state.only(VersionStage.ACTIVE)

    @property
    def wanted(self) -> str:
        """The version that group.yaml names; empty if nobody can read it."""
        return self.desired.spec.active if self.desired.spec else ""

    @property
    def next(self) -> str:
        """The version that the gates are about."""
        return self.decision.record.next_of(self.wanted)

    @property
    def told(self) -> Statements:
        """What was said of the versions that serve, or that main names, and of what serves instead."""
        folders = self.desired.versions
        about = {f"{each}-{folders[each].content}" for each in (self.active, self.wanted) if each in folders}
        return telling(self.decision.record.statements, about)

    @property
    def outlook(self) -> Outlook:
        """What comes next, and what a person can do."""
        return outlook_of(self.group, self.desired, self.observed, self.decision)

    def member(self, place: Endpoint) -> Member:
        """What the cluster shows of a service."""
        return self.observed.members.get(member_name(place.service, place.initial_version), UNKNOWN_MEMBER)


def json_explanation(found: Explanation) -> "GroupExplanationJson":
    """Return all of it for programs."""
    decision, outlook = found.decision, found.outlook
    record = decision.record
    return {
        "group": str(found.group),
        "phase": decision.phase,
        "active": found.active or None,
        "wanted": found.wanted or None,
        "transition": to_json(record.transition) if record.transition else None,
        "versions": [_json_version(found, each) for each in record.state.versions],
        "gates": [
            to_json(gate) | {"open": gate.open, "remedy": "" if gate.open else gate.remedy} for gate in decision.gates
        ],
        "pullRequest": _json_pull(found.observed.git.pull),
        "conditions": [json_of(each, found.group) for each in decision.conditions],
        "statements": json_of_statements(found.told, version_in),
        "next": outlook.next,
        "advice": [{"what": each.what, "command": each.command} for each in outlook.advice],
        "actions": [str(action) for action in decision.actions],
        "wakeAt": decision.wake_at.isoformat() if decision.wake_at else None,
    }


def _json_pull(pull: PullRequest | None) -> "PullJson | None":
    if pull is None:
        return None
    return {"number": pull.number, "url": pull.url, "state": pull.state, "closedBy": pull.closed_by or None}


def _json_version(found: Explanation, version: GroupVersion) -> "ExplainedVersionJson":
    services: list[MemberJson] = [
        {
            "service": place.service,
            "app": member_name(place.service, place.initial_version),
            "healthy": member.healthy,
            "available": member.available,
            "reason": member.reason,
        }
        for place in serving_in(found.decision.record, version.name)
        for member in (found.member(place),)
    ]
    return {"name": version.name, "stage": version.stage, "services": services}


def drawn_explanation(found: Explanation) -> Group:
    """Return all of it for people."""
    return Group(*_parts(found))


def _parts(found: Explanation) -> Iterator[RenderableType]:
    decision = found.decision
    yield said(f"{found.group}: {decision.phase}", f"bold {style_of(decision.phase)}")
    asks = f"; main asks for {found.wanted}" if found.wanted and found.wanted != found.active else ""
    is_served = has_served(decision.record, found.observed)
    yield _indented(said(f"{found.active} serves{asks}" if is_served else f"nothing serves yet{asks}"))
    moving = decision.record.transition
    if moving is not None:
        way = "is taken back" if moving.withdrawn else f"is at the step {moving.step}"
        yield _indented(said(f"the {moving.kind.lower()} from {moving.source} to {moving.target} {way}"))
    pull = found.observed.git.pull
    if pull is not None:
        yield _indented(said(_pull(pull)))
    for condition in troubles(decision.conditions, GROUP_MEANINGS):
        yield drawn(condition, found.group, 2)
    yield from statement_lines(found.told, version_in, 2)
    if decision.record.state.versions:
        yield _versions(found)
    if decision.gates:
        yield _indented(said(f"before requests move to {found.next}:"))
        yield gate_table((ShownGate(gate, gate.reason) for gate in decision.gates), found.now, indent=2)
    for action in decision.actions:
        yield _indented(said(f"about to be done: {action}"))
    yield facts(_outlook(found.outlook), 2)
    if decision.wake_at:
        left = spoken((decision.wake_at - found.now).total_seconds())
        yield _indented(said(f"looked at again in {left} at the latest", "dim"))


def _pull(pull: PullRequest) -> str:
    """Return how far people are with what the group's branch asks for."""
    if pull.state is PullState.CLOSED:
        by = pull.closed_by or "somebody"
        return f"{by} closed pull request #{pull.number}, {pull.url}: reopen it, or ask for something else"
    return f"pull request #{pull.number} is to be merged: {pull.url}"


def _indented(text: Text) -> Listing:
    return paragraph(text, 2)


_COLUMNS = (Column("VERSION"), Column("STAGE"), Column("SERVICE"), Column("STATE"))


def _versions(found: Explanation) -> Listing:
    """The services of the active and the wanted version each have a line, those of other versions are named."""
    versions = found.decision.record.state.versions
    lines = (Line(cells) for version in versions for cells in _lines(found, version))
    return Listing(_COLUMNS, lines, indent=2)


def _lines(found: Explanation, version: GroupVersion) -> Iterator[tuple[Text, ...]]:
    first = (said(version.name, "bold"), said(version.stage, _STAGES.get(version.stage, "dim")))
    places = serving_in(found.decision.record, version.name)
    if version.name not in (found.active, found.wanted, found.next) or not places:
        names = ", ".join(member_name(each.service, each.initial_version) for each in places)
        yield (*first, said(names or "-"), said(""))
        return
    for place in places:
        member, name = found.member(place), member_name(place.service, place.initial_version)
        yield (*first, said(name), said(*_state(member)))
        first = (said(""), said(""))


def _state(member: Member) -> tuple[str, str]:
    if member.healthy:
        return "healthy", "green"
    return member.reason or "is not healthy", "yellow" if member.available else "red"


def _outlook(outlook: Outlook) -> Iterator[tuple[Text, Text]]:
    yield said("next", "dim"), said(outlook.next)
    for each in outlook.advice:
        yield said("to do", "dim"), said(each.what)
        if each.command:
            yield said(""), said(each.command, "cyan")

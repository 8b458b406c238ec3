"""Why a group is as it is: what `group explain` shows, as text for a terminal of 80 columns and as JSON. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from gitops_bg.cli.output import said
from gitops_bg.cli.views.explained import Explained, ShownGate, drawn_explained, json_explained, telling
from gitops_bg.cli.views.listing import Column, Line, Listing, facts
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.model import Endpoint, GroupVersion, VersionStage, version_in
from gitops_bg.core.groups.observed import Member, ObservedGroup
from gitops_bg.core.groups.world import UNKNOWN_MEMBER, member_name
from gitops_bg.core.inspect.outlook import Outlook, has_served, outlook_of, serving_in
from gitops_bg.core.model.statements import Statements
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.codec import to_json

if TYPE_CHECKING:
    from gitops_bg.cli.printed.groups import ExplainedVersionJson, GroupExplanationJson, MemberJson

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

    @property
    def explained(self) -> Explained:
        """What `explain` shows of it as of an app."""
        decision = self.decision
        return Explained(
            subject=self.group,
            phase=decision.phase,
            active=self.active,
            coming=self.next if decision.gates else "",
            serves=self._serves(),
            before_gates=f"before requests move to {self.next}:",
            gates=tuple(ShownGate(each, each.reason, "" if each.open else each.remedy) for each in decision.gates),
            pull=self.observed.git.pull,
            conditions=decision.conditions,
            told=self.told,
            name=version_in,
            actions=decision.actions,
            wake_at=decision.wake_at,
            now=self.now,
        )

    def _serves(self) -> tuple[str, ...]:
        asks = f"; main asks for {self.wanted}" if self.wanted and self.wanted != self.active else ""
        is_served, moving = has_served(self.decision.record, self.observed), self.decision.record.transition
        serves = f"{self.active} serves{asks}" if is_served else f"nothing serves yet{asks}"
        if moving is None:
            return (serves,)
        way = "is taken back" if moving.withdrawn else f"is at the step {moving.step}"
        return serves, f"the {moving.kind.lower()} from {moving.source} to {moving.target} {way}"

    def member(self, place: Endpoint) -> Member:
        """What the cluster shows of a service."""
        return self.observed.members.get(member_name(place.service, place.initial_version), UNKNOWN_MEMBER)


def json_explanation(found: Explanation) -> "GroupExplanationJson":
    """Return all of it for programs."""
    outlook, record = found.outlook, found.decision.record
    return {
        **json_explained(found.explained),
        "group": str(found.group),
        "wanted": found.wanted or None,
        "transition": to_json(record.transition) if record.transition else None,
        "versions": [_json_version(found, each) for each in record.state.versions],
        "outlook": outlook.next,
        "toDo": [{"what": each.what, "command": each.command} for each in outlook.advice],
    }


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
    versions = (_versions(found),) if found.decision.record.state.versions else ()
    return drawn_explained(found.explained, versions, outlook=facts(_outlook(found.outlook), 2))


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

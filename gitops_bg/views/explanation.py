"""Why an app or a release group is as it is, from the engine's decision on fresh facts: what serves, the gates, who
said what, what comes next; in words, and for programs. What only an app has is added by its verb.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.inputs import DesiredGroup, Member, ObservedGroup
from gitops_bg.core.groups.model import Endpoint, GroupVersion, VersionStage, version_in
from gitops_bg.core.groups.record import GroupDecision
from gitops_bg.core.groups.world import UNKNOWN_MEMBER, member_name
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.statements import Says, Statement, Statements
from gitops_bg.core.model.version import AppOrGroup, GroupKey
from gitops_bg.core.status.group_advice import NextStep, has_served, next_step, serving_in
from gitops_bg.spec.codec import to_json
from gitops_bg.views.conditions import Advised, json_of_condition

if TYPE_CHECKING:
    from gitops_bg.views.shapes.apps import ExplainedJson
    from gitops_bg.views.shapes.groups import ExplainedVersionJson, GroupExplanationJson, MemberJson


@dataclass(frozen=True, slots=True)
class ShownGate:
    """A gate with the words that are shown: its reason, and what a person can do about it (empty: nothing)."""

    gate: GateResult
    reason: str
    advice: str = ""
    counts: str = ""
    """How many pods it counts, if it does."""


# --- who said what ---

_WHAT = {
    Says.REFUSED: "refused",
    Says.CLEARED: "cleared",
    Says.NAMED: "named again",
    Says.PASSED_OVER: "passed over",
    Says.WANTED: "wanted live",
}


def statements_about(statements: Statements, digests: Collection[str]) -> tuple[Statement, ...]:
    """Return those about these versions, and the one that says where traffic is to go; in the order in which they
    count.
    """
    return tuple(each for each in statements if each.says is Says.WANTED or each.digest in digests)


def json_of_statements(statements: Statements, name: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return them for programs; ``name`` is that of a version, by its digest."""
    return [to_json(each) | {"version": name(each.digest)} for each in statements]


def statement_sentence(statement: Statement, version: str) -> str:
    """Return what was said of a version, by whom, when and why."""
    who = statement.by or ("Git" if statement.commit else "the agent")
    commit = f", commit {statement.commit[:10]}" if statement.commit else ""
    why = f": {statement.reason}" if statement.reason else ""
    return f"{version} was {_WHAT[statement.says]} at {statement.at:%Y-%m-%d %H:%M:%S}Z by {who}{commit}{why}"


# --- all of it ---


@dataclass(frozen=True, slots=True)
class Explained:
    """What both have: the engine's decision on fresh facts, in words."""

    subject: AppOrGroup
    environment: str
    """The environment that it is in; empty where its repository has none."""
    phase: Phase
    active: str
    """The version that serves; empty where none does."""
    coming: str
    """The version that the gates are about; empty where there are none."""
    serves: tuple[str, ...]
    """Where live traffic goes, and moves to, in sentences."""
    before_gates: str
    """What the gates are in the way of, as a sentence."""
    gates: tuple[ShownGate, ...]
    pull: PullRequest | None
    conditions: tuple[Condition, ...]
    told: Statements
    """Who said what of these versions."""
    name: Callable[[str], str]
    """The name of a version by its digest."""
    actions: tuple[object, ...]
    wake_at: datetime | None
    now: datetime

    @property
    def advised(self) -> Advised:
        """What its advice is about."""
        return Advised(self.subject, self.environment)


def json_explained(found: Explained) -> "ExplainedJson":
    """Return it for programs."""
    return {
        "phase": found.phase,
        "active": found.active or None,
        "next": found.coming or None,
        "pullRequest": to_json(found.pull) | {"state": found.pull.state} if found.pull else None,
        "gates": [_json_gate(each, found.now) for each in found.gates],
        "conditions": [json_of_condition(each, found.advised) for each in found.conditions],
        "statements": json_of_statements(found.told, found.name),
        "actions": [str(action) for action in found.actions],
        "wakeAt": found.wake_at.isoformat() if found.wake_at else None,
    }


def _json_gate(shown: ShownGate, now: datetime) -> dict[str, Any]:
    gate = shown.gate
    left = max(0.0, (gate.until - now).total_seconds()) if gate.until else None
    return to_json(gate) | {
        "open": gate.open,
        "counts": shown.counts,
        "remainingSeconds": left,
        "advice": shown.advice,
    }


def pull_sentence(pull: PullRequest) -> str:
    """Return how far people are with what the branch asks for."""
    if pull.state is PullState.OPEN:
        return f"pull request #{pull.number} is to be merged: {pull.url}"
    if pull.state is PullState.CLOSED:
        by = pull.closed_by or "somebody"
        return f"{by} closed pull request #{pull.number}, {pull.url}: reopen it, or ask for something else"
    return f"pull request #{pull.number} is {pull.state}: {pull.url}"


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
    def statements(self) -> Statements:
        """What was said of the versions that serve, or that main names, and of what serves instead."""
        folders = self.desired.versions
        about = {f"{each}-{folders[each].content}" for each in (self.active, self.wanted) if each in folders}
        return statements_about(self.decision.record.statements, about)

    @property
    def outlook(self) -> NextStep:
        """What comes next, and what a person can do."""
        return next_step(self.group, self.desired, self.observed, self.decision)

    @property
    def explained(self) -> Explained:
        """What `explain` shows of it as of an app."""
        decision = self.decision
        return Explained(
            subject=self.group,
            environment="",
            phase=decision.phase,
            active=self.active,
            coming=self.next if decision.gates else "",
            serves=self._serves(),
            before_gates=f"before requests move to {self.next}:",
            gates=tuple(ShownGate(each, each.reason, "" if each.open else each.remedy) for each in decision.gates),
            pull=self.observed.git.pull,
            conditions=decision.conditions,
            told=self.statements,
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
        """Return what the cluster shows of a service."""
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

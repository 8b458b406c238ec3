"""`group explain`: why a group is as it is: decides on fresh facts with its engine, and writes nothing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table

from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.cli.commands.group.arguments import Group
from gitops_bg.cli.commands.group.looking import look
from gitops_bg.cli.exit_codes import NOT_SO, OK
from gitops_bg.cli.options.options import AppOptions
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.condition_meanings import drawn, json_of
from gitops_bg.cli.views.gate_rows import gate_rows, json_of_gate
from gitops_bg.cli.views.output import Output, said
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.world import UNKNOWN_MEMBER, member_name
from gitops_bg.core.model.decision import Phase
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.meanings import troubles


@dataclass(frozen=True, slots=True)
class _Findings:
    """The engine's decision on fresh facts."""

    facts: GroupFacts
    decision: GroupDecision
    now: datetime

    @property
    def named(self) -> AppKey:
        """The group by the name that conditions and commands take."""
        return AppKey(self.facts.key.namespace, self.facts.key.name)


def explain(
    group: Group,
    at: AppOptions,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 unless the group is Healthy.")] = False,
) -> int:
    """Explain what a group waits for: each gate, open or shut, why, until when, and what to do; and its services.

    Example: gitops-bg group explain shop/store
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place) as session:
        facts, now = look(session, group), session.now
        found = _Findings(facts, facts.decide(now), now)
        if output.json:
            output.data(_json(found))
        else:
            _show(output, found)
    return NOT_SO if exit_code and found.decision.phase is not Phase.HEALTHY else OK


def _json(found: _Findings) -> dict[str, Any]:
    decision, state = found.decision, found.decision.record.state
    moving = decision.record.transition
    return {
        "group": str(found.facts.key),
        "phase": decision.phase,
        "active": state.only(VersionStage.ACTIVE) or None,
        "wanted": found.facts.desired.spec.active if found.facts.desired.spec else None,
        "transition": {"kind": moving.kind, "target": moving.target, "step": moving.step} if moving else None,
        "versions": [{"name": each.name, "stage": each.stage} for each in state.versions],
        "services": [
            {"service": service, "version": version, "member": member, "healthy": healthy, "reason": reason or None}
            for service, version, member, healthy, reason in _services(found)
        ],
        "gates": [json_of_gate(gate, found.now) for gate in decision.gates],
        "conditions": [json_of(condition, found.named) for condition in decision.conditions],
        "actions": [str(action) for action in decision.actions],
        "wakeAt": decision.wake_at.isoformat() if decision.wake_at else None,
    }


def _services(found: _Findings) -> list[tuple[str, str, str, bool, str]]:
    """Each service with the version that it serves in, its app, whether that is healthy, and why not."""
    rows = []
    for each in found.decision.record.state.endpoints:
        name = member_name(each.service, each.initial_version)
        member = found.facts.observed.members.get(name, UNKNOWN_MEMBER)
        rows.append((each.service, each.version, name, member.healthy, "" if member.healthy else member.reason))
    return sorted(rows)


def _show(output: Output, found: _Findings) -> None:
    decision, state = found.decision, found.decision.record.state
    output.line(f"{found.facts.key}: {decision.phase}", "bold")
    active = state.only(VersionStage.ACTIVE)
    output.line(f"  {active} serves" if active else "  nothing serves yet")
    for condition in troubles(decision.conditions):
        output.show(Padding(drawn(condition, found.named), (0, 0, 0, 2)))
    spec, moving = found.facts.desired.spec, decision.record.transition
    if moving:
        output.line(f"  {moving.kind.lower()} from {moving.source} to {moving.target}: {moving.step.lower()}")
    if spec and decision.gates:
        output.line(f"  group.yaml asks for {spec.active}; before requests go there:")
        output.show(Padding(gate_rows(decision.gates, found.now), (0, 0, 0, 2)))
    output.show(Padding(_table(found), (0, 0, 0, 2)))
    for action in decision.actions:
        output.line(f"  about to be done: {action}")


def _table(found: _Findings) -> Table:
    stages = {each.name: each.stage for each in found.decision.record.state.versions}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("SERVICE", "SERVES IN", "STAGE", "APP", "STATE"):
        table.add_column(title)
    for service, version, member, healthy, reason in _services(found):
        state = said("healthy", "green") if healthy else said(reason or "is not healthy", "red")
        table.add_row(said(service), said(version), said(str(stages.get(version, "-"))), said(member), state)
    return table

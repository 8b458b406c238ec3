"""`explain`: why an app is where it is: the engine decides on fresh facts, its gates are shown; writes nothing."""

from datetime import datetime
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table

from gitops_bg.agent.gathering import Facts
from gitops_bg.cli.advice import advice
from gitops_bg.cli.durations import spoken
from gitops_bg.cli.exit_codes import NOT_SO, OK
from gitops_bg.cli.options import App, AppOptions
from gitops_bg.cli.output import Output, said
from gitops_bg.cli.session import Session
from gitops_bg.core.actions import label
from gitops_bg.core.decision import Condition, Decision, Gate, GateKind, Phase
from gitops_bg.core.model import Version
from gitops_bg.spec.codec import to_json

_GOOD = ("Available", "Healthy", "CandidateReady", "HooksPassed", "GitReachable")
"""The conditions that tell no trouble when they are true."""
_SHOWN_BY_GATES = ("Progressing", "Completed", "Paused", "AnalysisPassed")


def explain(
    app: App,
    at: AppOptions,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 unless the app is Healthy.")] = False,
) -> int:
    """Explain what an app waits for: each gate, open or shut, why, until when, and what to do.

    Example: gitops-bg explain shop/web
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place) as session:
        facts, now = session.facts(session.app(app)), session.now
        decision = facts.decide(now)
        coming = _coming(facts, decision, now)
        if output.json:
            output.data(_json(facts, decision, coming, now))
        else:
            _show(output, facts, decision, coming, now)
    return NOT_SO if exit_code and decision.phase is not Phase.HEALTHY else OK


def _coming(facts: Facts, decision: Decision, now: datetime) -> Version | None:
    """The version that the gates are those of."""
    world = facts.world(now).with_record(decision.record)
    return world.moving_to or world.record.version(world.target_digest)


def _counts(facts: Facts, coming: Version | None, gate: Gate) -> str:
    """How many pods there are of it: what the gate counts."""
    if coming is None or gate.kind not in (GateKind.AVAILABILITY, GateKind.ENDPOINTS):
        return ""
    views = [view for view in facts.observed.replica_sets if view.snapshot.digest == coming.digest]
    return f"({views[0].available}/{views[0].replicas} available)" if views else "(no pods yet)"


def _offered(facts: Facts) -> bool:
    """Whether there is a promotion branch to merge."""
    return facts.observed.git.promotion is not None


def _json(facts: Facts, decision: Decision, coming: Version | None, now: datetime) -> dict[str, Any]:
    return {
        "app": str(facts.app),
        "phase": decision.phase,
        "active": _named(decision, decision.record.traffic),
        "next": label(coming.number, coming.digest) if coming and decision.gates else None,
        "gates": [
            to_json(gate)
            | {
                "open": gate.open,
                "counts": _counts(facts, coming, gate),
                "remainingSeconds": max(0.0, (gate.until - now).total_seconds()) if gate.until else None,
                "advice": advice(gate, facts.app, facts.spec, _offered(facts)),
            }
            for gate in decision.gates
        ],
        "conditions": [to_json(condition) for condition in decision.conditions],
        "actions": [str(action) for action in decision.actions],
        "wakeAt": decision.wake_at.isoformat() if decision.wake_at else None,
    }


def _named(decision: Decision, digest: str) -> str | None:
    version = decision.record.version(digest)
    return label(version.number, version.digest) if version else None


def _show(output: Output, facts: Facts, decision: Decision, coming: Version | None, now: datetime) -> None:
    output.line(f"{facts.app}: {decision.phase}", "bold")
    live = _named(decision, decision.record.traffic)
    output.line(f"  live traffic goes to {live}" if live else "  nothing serves yet")
    for condition in decision.conditions:
        if _is_news(condition, decision):
            output.line(f"  {condition.type}={condition.status}: {condition.message}", "yellow")
    if coming and decision.gates:
        named, serves = label(coming.number, coming.digest), coming.digest == decision.record.traffic
        stays = f"live traffic stays with {named} if this ends well:"
        output.line(f"  {stays if serves else f'next is {named}; before its traffic moves:'}")
        output.show(Padding(_table(facts, decision, coming, now), (0, 0, 0, 2)))
    for action in decision.actions:
        output.line(f"  about to be done: {action}")
    if decision.wake_at:
        output.line(f"  looked at again in {spoken((decision.wake_at - now).total_seconds())} at the latest", "dim")


def _is_news(condition: Condition, decision: Decision) -> bool:
    """Whether a condition is not as it is on a calm day; a restart that is scheduled is worth a line, too."""
    if condition.type in _SHOWN_BY_GATES or condition.reason == "NoCandidate":
        return False
    if condition.type == "Healthy" and decision.phase is not Phase.DEGRADED:
        return False
    calm = condition.status == (condition.type in _GOOD)
    return not calm or condition.reason == "Scheduled"


def _table(facts: Facts, decision: Decision, coming: Version, now: datetime) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for gate in decision.gates:
        remaining = f"for {spoken((gate.until - now).total_seconds())} more" if gate.until and not gate.open else ""
        reason = " ".join(part for part in (gate.reason, _counts(facts, coming, gate)) if part)
        table.add_row(
            said("open" if gate.open else "shut", "green" if gate.open else "red"),
            said(gate.kind, "bold"),
            said(reason),
            said(remaining),
            said(advice(gate, facts.app, facts.spec, _offered(facts)), "cyan"),
        )
    return table

"""What a running agent has heard of who approved, from the live object: no command asks a forge."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.checks.policies.match import asked_of_people
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.model.decision import Decision, GateKind, GateResult


def with_heard_gates(decision: Decision, facts: Facts, manifest: Object | None) -> Decision:
    """Return the decision with the gates of policies as the agent last wrote them, where rules ask about people."""
    policing = facts.desired.policing
    if not decision.gates or not policing or not facts.observed.git.has_forge:
        return decision
    if not asked_of_people(policing.all_policies):
        return decision
    return replace(decision, gates=_heard(decision.gates, manifest))


def with_heard_gates_of_group(decision: GroupDecision, facts: GroupFacts) -> GroupDecision:
    """Return the same of a group; its forge is asked about all of its services at once."""
    is_heard = facts.has_forge and bool(facts.asks)
    return replace(decision, gates=_heard(decision.gates, facts.seen.body)) if is_heard else decision


def _heard(gates: tuple[GateResult, ...], manifest: Object | None) -> tuple[GateResult, ...]:
    heard = tuple(_policies_in(((manifest or {}).get("status") or {}).get("gates") or []))
    others = tuple(gate for gate in gates if gate.kind != GateKind.POLICY)
    return (*others, *heard) if heard else gates


def _policies_in(gates: list[Mapping[str, Any]]) -> Iterator[GateResult]:
    for gate in gates:
        if gate.get("kind") == GateKind.POLICY:
            until = datetime.fromisoformat(gate["until"]) if gate.get("until") else None
            remedy = "" if gate["open"] or until else "do what it asks; its pull request says the same"
            yield GateResult(GateKind.POLICY, bool(gate["open"]), str(gate["reason"]), until, remedy)

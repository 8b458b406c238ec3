"""What a running agent has heard of who approved, from the live object: no command asks a forge."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.checks.policies.match import asked_of_people
from gitops_bg.core.model.decision import Decision, GateKind, GateResult


def with_heard_gates(decision: Decision, facts: Facts, manifest: Object | None) -> Decision:
    """Return the decision with the gates of policies as the agent last wrote them, where rules ask about people."""
    policing = facts.desired.policing
    if not decision.gates or not policing or not facts.observed.git.has_forge:
        return decision
    heard = tuple(_policies_in(((manifest or {}).get("status") or {}).get("gates") or []))
    if not heard or not asked_of_people(policing.all_policies):
        return decision
    others = tuple(gate for gate in decision.gates if gate.kind != GateKind.POLICY)
    return replace(decision, gates=(*others, *heard))


def _policies_in(gates: list[Mapping[str, Any]]) -> Iterator[GateResult]:
    for gate in gates:
        if gate.get("kind") == GateKind.POLICY:
            until = datetime.fromisoformat(gate["until"]) if gate.get("until") else None
            remedy = "" if gate["open"] or until else "do what it asks; its pull request says the same"
            yield GateResult(GateKind.POLICY, bool(gate["open"]), str(gate["reason"]), until, remedy)

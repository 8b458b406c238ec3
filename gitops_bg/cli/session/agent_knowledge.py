"""What only a running agent finds out, read from what it wrote to the live objects, for verbs that decide as the agent
does: refused writes, whether it reads main, what the ledger has, and who approved. Asks no server, and no forge.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.offline import facts_without_git
from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.checks.policy_judge import asked_of_people
from gitops_bg.core.groups.record import GroupDecision
from gitops_bg.core.model.conditions import GIT_REACHABLE, SOURCE_VERIFIED
from gitops_bg.core.model.decision import Decision, GateKind, GateResult
from gitops_bg.core.model.main import SourceVerification, UnreadReason, UnverifiedCommit, VerificationFailure
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.record import Record
from gitops_bg.core.status.conditions import (
    LEDGER_WRITABLE,
    MAIN_REFUSES,
    OFFER_WRITABLE,
    PUSH_REFUSED,
)


def with_reported_gates(decision: Decision, facts: Facts, manifest: Object | None) -> Decision:
    """Return the decision with the gates of policies as the agent last wrote them, where rules ask about people."""
    policing = facts.desired.policing
    if not decision.gates or not policing or not facts.observed.git.has_forge:
        return decision
    if not asked_of_people(policing.all_policies):
        return decision
    return replace(decision, gates=_reported_gates(decision.gates, manifest))


def with_reported_group_gates(decision: GroupDecision, facts: GroupFacts) -> GroupDecision:
    """Return the same of a group; its forge is asked about all of its services at once."""
    is_heard = facts.has_forge and bool(facts.asks)
    return replace(decision, gates=_reported_gates(decision.gates, facts.seen.body)) if is_heard else decision


def _reported_gates(gates: tuple[GateResult, ...], manifest: Object | None) -> tuple[GateResult, ...]:
    heard = tuple(_policies_in(((manifest or {}).get("status") or {}).get("gates") or []))
    others = tuple(gate for gate in gates if gate.kind != GateKind.POLICY)
    return (*others, *heard) if heard else gates


def _policies_in(gates: list[Mapping[str, Any]]) -> Iterator[GateResult]:
    for gate in gates:
        if gate.get("kind") == GateKind.POLICY:
            until = datetime.fromisoformat(gate["until"]) if gate.get("until") else None
            remedy = "" if gate["open"] or until else "do what it asks; its pull request says the same"
            yield GateResult(GateKind.POLICY, bool(gate["open"]), str(gate["reason"]), until, remedy)


_SKEWS = {"ApiServerAhead": 1, "ApiServerBehind": -1}


def as_the_agent_knows(facts: Facts, manifest: Object | None) -> Facts:
    """Return the facts with the refusals of main or the cluster, as the agent last wrote them into the live object."""
    conditions = ((manifest or {}).get("status") or {}).get("conditions") or []
    why = {each["reason"]: each["message"] for each in conditions}
    unwritten = {each["type"]: each["message"] for each in conditions if each["reason"] == PUSH_REFUSED}
    observed = facts.observed
    git = replace(
        observed.git,
        main_refused=why.get(MAIN_REFUSES, observed.git.main_refused),
        offer_refused=unwritten.get(OFFER_WRITABLE, observed.git.offer_refused),
        ledger_refused=unwritten.get(LEDGER_WRITABLE, observed.git.ledger_refused),
    )
    git = _with_ledger(_with_unread_main(git, conditions), facts.record)
    skew = next((_SKEWS[each["reason"]] for each in conditions if each["reason"] in _SKEWS), observed.clock_skew)
    said = (each["message"] for each in conditions if (each["type"], each["status"]) == ("Refused", "True"))
    refused = next(said, observed.refused)
    return replace(facts, observed=replace(observed, git=git, refused=refused, clock_skew=skew))


def _with_unread_main(git: GitView, conditions: Sequence[Object]) -> GitView:
    """Return what the agent says of a main that it cannot read: that this program can read it moves nothing."""
    said = next((each for each in conditions if each["type"] == GIT_REACHABLE and each["status"] == "False"), None)
    if said is None:
        return git
    reason = next((each for each in UnreadReason if each.value == said["reason"]), UnreadReason.UNREACHABLE)
    return replace(git, unreachable=said["message"], unread_reason=reason)


def _with_ledger(git: GitView, record: Record) -> GitView:
    """Return what Git shows to a verb that has not read the ledger: it has what the record still keeps for it, or gets
    it now.

    The agent notes that it does with the next save of the record (``agent.reconcile.apps``).
    """
    if git.ledger_is_known or git.ledger_epoch or git.ledger_refused or record.ledger_claimed:
        return git
    return replace(git, ledger_epoch=record.epoch, ledger_sequence=record.sequence)


def as_far_as_the_agent_reads(facts: Facts, cluster: Cluster) -> Facts:
    """Return the facts from the cluster alone, where the agent does not read the head of main: it cannot at all, or
    reads up to a commit that this program has no keys to tell.
    """
    status = (cluster.manifest(facts.app) or {}).get("status") or {}
    held = next((_held(each) for each in status.get("conditions") or [] if each["type"] == SOURCE_VERIFIED), None)
    known = facts_without_git(cluster, facts.app) if held or facts.observed.git.unreachable else None
    if known is None:
        return facts
    git = replace(facts.observed.git, verification=SourceVerification(held)) if held else facts.observed.git
    return replace(known, observed=replace(known.observed, git=git))


def _held(condition: Object) -> UnverifiedCommit | None:
    if condition["status"] != "False" or condition["reason"] not in set(VerificationFailure):
        return None
    return UnverifiedCommit("", "", VerificationFailure(condition["reason"]), said=condition["message"])

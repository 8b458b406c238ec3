"""What policies, and the commit of a promotion, say about an app or a release group: gates, when that changes, its
place in the queue of those that wait for their turn, and who overrode them (policies.md §3, §5, §6).

An app is judged for itself, a group for each service that moves with it. Never on the way back (I6).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from gitops_bg.core.delivery.gates import all_open
from gitops_bg.core.delivery.subject import Round, Subject
from gitops_bg.core.delivery.world import W
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.policies.facts import Overriding, Peer, RuleVerdict
from gitops_bg.core.model.policies.rules import PoliciesThen, Proof
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppOrGroup, Source

CONCURRENCY = "concurrency"
LAST = 2**53
"""The place in the queue of versions that are not merged yet: after all that are."""
PROMOTE_ALONE = "revert it, and promote again by a commit that changes primary.yaml alone"
_MOST_NAMED = 3


# --- gates: one for each shut rule, and one for each open policy; none where no policy is for it ---


def policies(asked: Round[Subject], digest: str) -> Iterator[GateResult]:
    """What all policies say about the promotion of a version; what they say of several services once, with the names of
    these.
    """
    told: dict[GateResult, list[str]] = {}
    for judged in asked.of.judged(digest):
        for result in (*judged.commit, *of_verdicts(judged.verdicts)):
            told.setdefault(result, []).append(judged.service)
    for result, names in told.items():
        yield replace(result, reason=f"{_about(names)}{result.reason}")


def of_commit(then: PoliciesThen | None) -> Iterator[GateResult]:
    """What the promotion's own commit says against the promotion (policies.md §5)."""
    if then is None:
        return
    commit = then.commit[:10]
    if then.unread:
        reason = f"nobody can tell what policies said before {commit or 'the promotion'}: {then.unread}"
        yield GateResult(GateKind.POLICY, False, reason, remedy="wait until the remote answers")
    if then.beside:
        reason = f"{commit} promotes it and {carries(then.beside)}"
        yield GateResult(GateKind.POLICY, False, reason, remedy=PROMOTE_ALONE)
    if then.changed_with_it:
        reason = f"{commit} promotes it and changes its own policy: policies/ is another with it"
        remedy = "revert it, and promote again by a commit that changes nothing in policies/"
        yield GateResult(GateKind.POLICY, False, reason, remedy=remedy)


def carries(files: tuple[str, ...]) -> str:
    """Say which files a commit or a branch has beside the promotion."""
    return f"carries other files: {', '.join(files)}"


def of_verdicts(found: tuple[RuleVerdict, ...]) -> Iterator[GateResult]:
    """What the policies say."""
    shut = {verdict.policy for verdict in found if not verdict.open}
    told: set[str] = set()
    for verdict in found:
        if not verdict.open:
            yield _shut(verdict)
        elif verdict.policy not in shut | told:
            told.add(verdict.policy)
            reasons = dict.fromkeys(each.reason for each in found if each.policy == verdict.policy)
            yield GateResult(GateKind.POLICY, True, f"{verdict.policy}: {'; '.join(reasons)}")


def _shut(verdict: RuleVerdict) -> GateResult:
    reason = f"{verdict.policy}: {verdict.reason}"
    if verdict.overriding:
        by = verdict.overriding
        return GateResult(GateKind.POLICY, True, f"{reason}; overridden by {by.by}: {by.reason}")
    if not verdict.holds:
        return GateResult(GateKind.POLICY, True, f"{reason} (it only warns)", verdict.until)
    return GateResult(GateKind.POLICY, False, reason, verdict.until, verdict.remedy)


def record_overridden_policies(world: W, asked: Round[Subject], digest: str) -> W:
    """Note in the ledger each policy in spite of which traffic moves: who overrode it, and why (policies.md §6)."""
    told: dict[Overriding, list[tuple[str, str]]] = {}
    for judged in asked.of.judged(digest):
        for verdict in judged.verdicts:
            if verdict.overriding:
                told.setdefault(verdict.overriding, []).append((judged.service, verdict.rule))
    for by, found in told.items():
        rules = dict.fromkeys(rule for _, rule in found)
        signed = ", signed" if by.proof is Proof.SIGNED else ""
        said = f"{_about(service for service, _ in found)}{by.policy} ({', '.join(rules)}{signed}): {by.reason}"
        world = world.with_ledger_entry_of(Event.OVERRIDDEN, digest, reason=said, by=by.by, commit=by.commit)
    return world


def _about(services: Iterable[str]) -> str:
    """The names of services, each once, before what is said of them; empty of an app."""
    names = list(dict.fromkeys(filter(None, services)))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}: " if names else ""


# --- when, and in which order ---


def moments(asked: Round[Subject], digest: str) -> Iterator[datetime]:
    """When time alone changes what a policy says about a version."""
    for judged in asked.of.judged(digest):
        yield from (verdict.until for verdict in judged.verdicts if verdict.until)


def with_place(asked: Round[Subject], seen: Peer, digest: str, gates: Iterable[GateResult]) -> Peer:
    """A peer with its place in the queue, where a version waits for its turn and nothing else: what also waits for
    pods delays no other. ``gates`` are all that stand before the version.
    """
    judged = asked.of.judged(digest)
    others = [gate for gate in gates if gate.kind != GateKind.POLICY]
    others += (gate for each in judged for gate in each.commit)
    shut = {verdict.rule for each in judged for verdict in each.verdicts if verdict.holds}
    return replace(seen, queued=asked.of.place(digest)) if shut == {CONCURRENCY} and all_open(others) else seen


def place_in_queue(who: AppOrGroup, merge: Source | None, since: datetime) -> tuple[int, str]:
    """The place of an app or a group that waits ``since``: the position of its merge in main; lower is first."""
    if merge is not None and merge.landed is not None:
        return merge.landed, str(who)
    return LAST, f"{since.isoformat()} {who}"

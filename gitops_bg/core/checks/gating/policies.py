"""The gates of promotion policies: one for each rule that is shut, and one for each policy that is open.

They are judged before the agent commits, and again when traffic would move; never on the way back (I6). Nothing is
asked of an app that no policy is for.
"""

from collections.abc import Iterator

from gitops_bg.core.checks.policies.facts import verdicts
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.policies.facts import Verdict
from gitops_bg.core.model.policies.rules import PoliciesThen
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def policies(world: World, version: Version) -> tuple[GateResult, ...]:
    """What all policies say of the promotion of a version."""
    policing = world.desired.policing
    if policing is None:
        return ()
    return (*_of_then(policing.then), *_of_verdicts(verdicts(world, version)))


def policies_of_first(world: World, version: Version) -> tuple[GateResult, ...]:
    """The same of the first deployment; not where something serves, and only its first commit is to be written."""
    return () if world.record.routing.traffic else policies(world, version)


def _of_then(then: PoliciesThen | None) -> Iterator[GateResult]:
    """What the promotion's own commit says against it (policies.md §5)."""
    if then is None:
        return
    commit = then.commit[:10]
    if then.unread:
        reason = f"nobody can tell what policies said before {commit}: {then.unread}"
        yield GateResult(GateKind.POLICY, False, reason, remedy="wait until the remote answers")
    if then.changed_with_it:
        reason = f"{commit} promotes it and changes its own policy: policies/ is another with it"
        remedy = "revert it, and promote again by a commit that changes nothing in policies/"
        yield GateResult(GateKind.POLICY, False, reason, remedy=remedy)


def _of_verdicts(found: tuple[Verdict, ...]) -> Iterator[GateResult]:
    shut = {verdict.policy for verdict in found if not verdict.open}
    told: set[str] = set()
    for verdict in found:
        if not verdict.open:
            yield _shut(verdict)
        elif verdict.policy not in shut | told:
            told.add(verdict.policy)
            reasons = dict.fromkeys(each.reason for each in found if each.policy == verdict.policy)
            yield GateResult(GateKind.POLICY, True, f"{verdict.policy}: {'; '.join(reasons)}")


def _shut(verdict: Verdict) -> GateResult:
    reason = f"{verdict.policy}: {verdict.reason}"
    if verdict.overriding:
        by = verdict.overriding
        return GateResult(GateKind.POLICY, True, f"{reason}; overridden by {by.by}: {by.reason}")
    if not verdict.holds:
        return GateResult(GateKind.POLICY, True, f"{reason} (it only warns)", verdict.until)
    return GateResult(GateKind.POLICY, False, reason, verdict.until, verdict.remedy)

"""What policies and the promotion's own commit say, as gates: one for each shut rule, and one for each open policy."""

from collections.abc import Iterator

from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.policies.facts import Verdict
from gitops_bg.core.model.policies.rules import PoliciesThen
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

PROMOTE_ALONE = "revert it, and promote again by a commit that changes primary.yaml alone"


def of_promotion(world: World, version: Version) -> Iterator[GateResult]:
    """What the commit of the promotion says against it; and that the branch which was merged held more than the
    promotion when it was seen last, however it was merged.
    """
    then = world.desired.policing.then if world.desired.policing else None
    yield from of_commit(then)
    if then is not None and not then.beside and world.record.git.beside == version.digest:
        reason = f"its promotion branch held other files when {then.commit[:10]} promoted it"
        yield GateResult(GateKind.POLICY, False, reason, remedy=PROMOTE_ALONE)


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


def of_verdicts(found: tuple[Verdict, ...]) -> Iterator[GateResult]:
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


def _shut(verdict: Verdict) -> GateResult:
    reason = f"{verdict.policy}: {verdict.reason}"
    if verdict.overriding:
        by = verdict.overriding
        return GateResult(GateKind.POLICY, True, f"{reason}; overridden by {by.by}: {by.reason}")
    if not verdict.holds:
        return GateResult(GateKind.POLICY, True, f"{reason} (it only warns)", verdict.until)
    return GateResult(GateKind.POLICY, False, reason, verdict.until, verdict.remedy)

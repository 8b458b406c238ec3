"""The gates of promotion policies: one for each shut rule, and one for each open policy.

They are judged before the agent commits, and again when traffic would move; never for a rollback (I6). An app that no
policy matches has none.
"""

from collections.abc import Iterator

from gitops_bg.core.checks.policies.facts import verdicts
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.policies.facts import Verdict
from gitops_bg.core.model.policies.rules import PoliciesThen
from gitops_bg.core.model.version import Version
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.world import World

_PROMOTE_ALONE = "revert it, and promote again by a commit that changes primary.yaml alone"


def policies(world: World, version: Version) -> tuple[GateResult, ...]:
    """What all policies say about the promotion of a version."""
    policing = world.desired.policing
    if policing is None:
        return ()
    return (*_of_then(policing.then), *_of_branch(world, version), *_of_verdicts(verdicts(world, version)))


def policies_of_first(world: World, version: Version) -> tuple[GateResult, ...]:
    """What all policies say about the first deployment; nothing where a version serves and only its first commit is
    missing.
    """
    return () if world.record.routing.traffic else policies(world, version)


def _of_then(then: PoliciesThen | None) -> Iterator[GateResult]:
    """What the promotion's own commit says against the promotion (policies.md §5)."""
    if then is None:
        return
    commit = then.commit[:10]
    if then.unread:
        reason = f"nobody can tell what policies said before {commit}: {then.unread}"
        yield GateResult(GateKind.POLICY, False, reason, remedy="wait until the remote answers")
    if then.beside:
        reason = f"{commit} promotes it and {_carries(then.beside)}"
        yield GateResult(GateKind.POLICY, False, reason, remedy=_PROMOTE_ALONE)
    if then.changed_with_it:
        reason = f"{commit} promotes it and changes its own policy: policies/ is another with it"
        remedy = "revert it, and promote again by a commit that changes nothing in policies/"
        yield GateResult(GateKind.POLICY, False, reason, remedy=remedy)


def offered_alone(world: World, version: Version) -> GateResult | None:
    """Whether the promotion branch offers the version, and nothing beside it: what people merge is what they approve.

    Only shown: nobody but who merges can stop what a branch brings along.
    """
    policing, branch = world.desired.policing, world.observed.git.promotion
    if policing is None or branch is None or branch.digest != version.digest or not policing.beside:
        return None
    remedy = f"take them out of the branch {promotion_branch(world.spec.app)}"
    return GateResult(GateKind.POLICY, False, f"its promotion branch {_carries(policing.beside)}", remedy=remedy)


def _of_branch(world: World, version: Version) -> Iterator[GateResult]:
    """The branch that was merged held more than the promotion when it was seen last, however it was merged."""
    then = world.desired.policing.then if world.desired.policing else None
    if then is not None and not then.beside and world.record.git.beside == version.digest:
        reason = f"its promotion branch held other files when {then.commit[:10]} promoted it"
        yield GateResult(GateKind.POLICY, False, reason, remedy=_PROMOTE_ALONE)


def _carries(files: tuple[str, ...]) -> str:
    return f"carries other files: {', '.join(files)}"


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

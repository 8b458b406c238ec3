"""The gates of promotion policies: one for each shut rule, and one for each open policy.

They are judged before the agent commits, and again when traffic would move; never for a rollback (I6). An app that no
policy matches has none.
"""

from gitops_bg.core.checks.policies.facts import verdicts
from gitops_bg.core.checks.policies.results import carries, of_promotion, of_verdicts
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.version import Version
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.world import World


def policies(world: World, version: Version) -> tuple[GateResult, ...]:
    """What all policies say about the promotion of a version."""
    return (*of_promotion(world, version), *of_verdicts(verdicts(world, version)))


def policies_of_first(world: World, version: Version) -> tuple[GateResult, ...]:
    """What all policies say about the first deployment; nothing where a version serves and only its first commit is
    missing, nor where it is a release group that is promoted.
    """
    return () if world.record.routing.traffic or world.desired.in_candidate else policies(world, version)


def offered_alone(world: World, version: Version) -> GateResult | None:
    """Whether the promotion branch offers the version, and nothing beside it: what people merge is what they approve.

    Only shown: nobody but who merges can stop what a branch brings along.
    """
    policing, branch = world.desired.policing, world.observed.git.promotion
    if policing is None or branch is None or branch.digest != version.digest or not policing.beside:
        return None
    remedy = f"take them out of the branch {promotion_branch(world.spec.app)}"
    return GateResult(GateKind.POLICY, False, f"its promotion branch {carries(policing.beside)}", remedy=remedy)

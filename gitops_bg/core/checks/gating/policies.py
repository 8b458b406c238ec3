"""The gates of promotion policies that only an app has (`core.delivery.policies`).

Policies are judged before the agent commits, and again when traffic would move; never for a rollback (I6).
"""

from collections.abc import Iterable

from gitops_bg.core.checks.subject import round_of
from gitops_bg.core.delivery.policies import carries, policies
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.version import Version
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.world import World


def policies_of_first(world: World, version: Version) -> Iterable[GateResult]:
    """What all policies say about the first deployment; nothing where a version serves and only its first commit is
    missing, nor where it is a release group that is promoted.
    """
    is_for_it = not world.record.routing.traffic and not world.desired.in_candidate
    return policies(round_of(world), version.digest) if is_for_it else ()


def offered_alone(world: World, version: Version) -> GateResult | None:
    """Whether the promotion branch offers the version, and nothing beside it: what people merge is what they approve.

    Only shown: nobody but who merges can stop what a branch brings along.
    """
    policing, branch = world.desired.policing, world.observed.git.promotion
    if policing is None or branch is None or branch.digest != version.digest or not policing.beside:
        return None
    remedy = f"take them out of the branch {promotion_branch(world.spec.app)}"
    return GateResult(GateKind.POLICY, False, f"its promotion branch {carries(policing.beside)}", remedy=remedy)

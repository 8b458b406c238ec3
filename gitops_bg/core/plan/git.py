"""Actions on Git: the commit of ``primary.yaml``, the promotion branch, the ledger (DESIGN §4.3, §4.5, §4.6)."""

from gitops_bg.core.checks.entering import entry_choice, may_offer, why_withdrawn
from gitops_bg.core.checks.gates import gates_before_commit, gates_before_first, gates_before_own_commit
from gitops_bg.core.checks.git import (
    follows_traffic_elsewhere,
    is_declined,
    is_held_by_closing,
    is_offered_here,
    is_promoted_elsewhere,
    is_superseded_in_place,
    is_way_back,
)
from gitops_bg.core.checks.ports import services_of
from gitops_bg.core.checks.sizes import is_expired, is_scaled_to_zero
from gitops_bg.core.checks.versions import is_old_tag
from gitops_bg.core.delivery.gates import all_open
from gitops_bg.core.delivery.ledger import publication
from gitops_bg.core.delivery.world import MERGED, UNWANTED, answered_once, may_tidy
from gitops_bg.core.environments.model import Enter
from gitops_bg.core.model.actions import (
    CommitPrimary,
    EnterRelease,
    GitAction,
    OfferPromotion,
    WithdrawPromotion,
    WithdrawRelease,
)
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.main import held_since
from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import OnExpire, PromoteVia
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

_NO_PODS = "target.yaml asks for 0 replicas: it would wait for pods that nobody wants"


@answered_once
def write_to_git(world: World) -> tuple[GitAction, ...]:
    """Return what to write to main, the promotion branch and the ledger; nothing while the remote is unreachable.

    Main and the branches that lead to it receive nothing while main does not count, or while its newest commits are not
    verified: the agent must not build on it.
    """
    git = world.observed.git
    if git.unreachable:
        return ()
    follows_main = world.main_counts and not held_since(git)
    return (*publication(world.record), *((*_promotion(world), *_entry(world)) if follows_main else ()))


def _entry(world: World) -> tuple[GitAction, ...]:
    """Take a release into the app's environment, by a commit or by what people merge; never a way back of traffic."""
    environment, choice = world.desired.environment, entry_choice(world)
    if environment is None or not environment.formers:
        return ()
    is_offered = environment.enter is Enter.PULL_REQUEST or bool(world.observed.git.main_refused)
    chosen, why = choice.release, why_withdrawn(world, environment)
    if chosen is not None and (not is_offered or why or may_offer(world, environment, chosen)):
        names = tuple(former.name for former in environment.formers)
        reason = f"it is proven in {' and '.join(names)}"
        return (EnterRelease(environment.name, chosen.id, chosen.commit, names, reason, is_offered),)
    is_unwanted = why and may_tidy(world) and not world.suspended
    return (WithdrawRelease(environment.name, why),) if is_unwanted else ()


def _promotion(world: World) -> tuple[GitAction, ...]:
    branch = world.observed.git.promotion
    wanted = _return_of_override(world) or _first_commit(world)
    if wanted is None and branch and is_way_back(world, branch):
        return ()
    if not isinstance(wanted, CommitPrimary) and follows_traffic_elsewhere(world, branch):
        return ()  # Each cluster would replace what the other one wants, for ever.
    wanted = wanted or _promotion_of_candidate(world)
    if isinstance(wanted, OfferPromotion):
        return () if _is_offered(world, wanted, branch) else (wanted,)
    if isinstance(wanted, CommitPrimary) and branch and branch.digest == wanted.version.digest:
        return (wanted,)  # The offer stands until main has the commit: main may refuse it again.
    stale = _stale_branch(world, branch)
    return tuple(action for action in (wanted, stale) if action)


def _return_of_override(world: World) -> GitAction | None:
    override, active = world.record.override, world.active
    if override is None or active is None or active.digest != override.to_digest or not world.desired.in_git:
        return None
    left = world.record.version(override.from_digest)
    return _write(world, active, Event.ROLLED_BACK, left, override.reason, override.by)


def _first_commit(world: World) -> GitAction | None:
    """Commit the version that serves first, or is about to.

    A ``primary.yaml`` that somebody removed is not written again.
    """
    first = world.active or world.candidate
    if world.record.git.primary or world.desired.primary is not Missing.ABSENT or first is None:
        return None
    if not all_open(gates_before_first(world, first)):
        return None
    return _write(world, first, Event.DEPLOYED, None, "first deployment", "")


def _promotion_of_candidate(world: World) -> GitAction | None:
    """Commit or offer a candidate whose gates are open, unless ``primary.yaml`` names it or an override
    waits for Git.
    """
    candidate, strategy = world.candidate, world.spec.strategy
    if candidate is None or not world.record.routing.traffic or candidate.digest == world.primary_digest:
        return None
    stopped = world.record.override or is_declined(world, candidate)
    if stopped or not all_open(gates_before_commit(world, candidate)):
        return None
    reason = candidate.source.subject or "promotion"
    by_itself = strategy.auto_promotion_enabled or _promotes_on_expiry(world, candidate)
    if by_itself and _waits_its_turn(world):
        return None
    if by_itself and not is_old_tag(world, candidate):
        return _own_promotion(world, candidate, reason)
    if world.spec.promote_via is PromoteVia.COMMIT and not strategy.auto_promotion_enabled:
        return None
    ports, tag = services_of(world, candidate), world.active.tag if world.active else ""
    return OfferPromotion(candidate, Event.PROMOTED, *_origin(world.active), reason, "", ports, tag)


def _own_promotion(world: World, candidate: Version, reason: str) -> GitAction | None:
    """Commit the promotion that the agent alone decides on, if the policies allow it now."""
    if not all_open(gates_before_own_commit(world, candidate)):
        return None
    return _write(world, candidate, Event.PROMOTED, world.active, reason, "")


def _waits_its_turn(world: World) -> bool:
    """Return whether the candidate waits for the version that ``primary.yaml`` names (DESIGN §4); no longer once that
    has failed.
    """
    return world.incoming is not None and not world.incoming.failure


def _promotes_on_expiry(world: World, candidate: Version) -> bool:
    return world.spec.strategy.on_expire is OnExpire.PROMOTE and is_expired(world, candidate)


def _write(world: World, to: Version, event: Event, origin: Version | None, reason: str, by: str) -> GitAction:
    """Write to main, or, where main refuses the agent, offer the commit on the promotion branch."""
    ports, tag = services_of(world, to), origin.tag if origin else ""
    if world.observed.git.main_refused:
        return OfferPromotion(to, event, *_origin(origin), reason, by, ports, tag)
    return CommitPrimary(to, event, *_origin(origin), reason, by, ports, tag)


def _origin(version: Version | None) -> tuple[str, int | None]:
    return (version.digest, version.number) if version else ("", None)


def _is_offered(world: World, wanted: OfferPromotion, branch: PromotionBranch | None) -> bool:
    """Return whether the branch already offers ``wanted``, even where main writes its digest with a prefix unknown to
    the record.

    What the agent itself offered is one commit on top of main (DESIGN §3): where main has dropped what it stands on, by
    a rewrite that somebody accepted, its merge would bring all of that back.
    """
    if branch is None or (branch.digest, branch.services) != (wanted.version.digest, wanted.services):
        return False
    by_agent = branch.digest == world.record.git.offered or is_promoted_elsewhere(branch)
    if branch.own_commits > 1 and branch.asks_for and by_agent:
        return False
    named = world.desired.primary.snapshot.digest if world.desired.primary else ""
    return branch.base_digest in (named, world.primary_digest)


def _stale_branch(world: World, branch: PromotionBranch | None) -> GitAction | None:
    """Delete a promotion branch that nothing asks for. A candidate whose gates shut for a moment keeps its branch."""
    if branch is None or not may_tidy(world):
        return None
    if branch.digest == world.primary_digest:
        return MERGED
    candidate = world.candidate
    if candidate and candidate.digest == branch.digest and not world.record.override:
        return WithdrawPromotion(_NO_PODS) if is_scaled_to_zero(world) and is_offered_here(world, branch) else None
    if is_superseded_in_place(world, branch.digest):
        return None  # Deleting it would close the pull request that is to offer the newer one.
    if is_held_by_closing(world, branch.digest):
        return None  # Its pull request can be reopened only while the branch exists.
    return UNWANTED if _may_withdraw(world, branch) else None


def _may_withdraw(world: World, branch: PromotionBranch) -> bool:
    """Return whether this cluster may delete what it does not want: all clusters that follow the folder share the
    branch.

    What another one, or a person, offers goes once main's target no longer names it; what follows another cluster's
    traffic, once main has another ``primary.yaml``. Else one would offer, and the other delete, for ever.
    """
    if is_offered_here(world, branch):
        return True
    return branch.digest != world.target_digest and not follows_traffic_elsewhere(world, branch)

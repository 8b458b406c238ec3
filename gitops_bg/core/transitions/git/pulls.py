"""The steps about the promotion branch and its pull request (decision 31).

- What the agent itself puts on the branch, and what people add to it. Promotion: the commit comes first, traffic
  second. Emergency rollback: traffic first, the commit afterwards.
- A pull request that was closed without a merge, or reopened. A closing counts once main has been looked at after it
  was seen: what main says by then is the later decision. It answers one offer only, so it holds nothing that was
  promoted, superseded or retried since.
- Who merged a promotion and who approved it: asked once, after traffic moved, never before. A squash hides both from
  Git (forges.md §3). Nothing waits for the answer: it becomes a separate ledger entry; if the forge does not answer in
  time, the entry says that this is unknown.
"""

from dataclasses import replace

from gitops_bg.core.checks.git.pulls import given_up_at, is_declined, is_held_by_closing
from gitops_bg.core.delivery.holds import lift_hold, put_hold
from gitops_bg.core.model.actions import OfferPromotion
from gitops_bg.core.model.git.pulls import Merge, PullRequest, PullState, offer_of
from gitops_bg.core.model.record import Event, PendingMergeLookup, Switch, SwitchKind
from gitops_bg.core.model.statements import Cause, Says
from gitops_bg.core.model.version import Version
from gitops_bg.core.plan.git import write_to_git
from gitops_bg.core.world import World


def record_offer(world: World) -> World:
    """Record what the agent itself offers: it may withdraw that, but not what a person, or another cluster, put on the
    branch.
    """
    git = world.observed.git
    offers = [action.version.digest for action in write_to_git(world) if isinstance(action, OfferPromotion)]
    gone = (git.promotion is None or git.promotion.offered_here is False) and not git.unreachable
    offered = offers[0] if offers else ("" if gone else world.record.git.offered)
    return world if offered == world.record.git.offered else world.with_part(replace(world.record.git, offered=offered))


def track_extra_files(world: World) -> World:
    """Remember that the branch offers a version together with other files, until that is over (policies.md §5).

    A squash or a rebase may leave no trace of it on main. It is over when the branch holds ``primary.yaml`` alone, or,
    once main names the version, when that was taken back or serves. A branch that main has says nothing more.
    """
    git, policing = world.observed.git, world.desired.policing
    if git.unreachable or not world.main_counts or policing is None:
        return world
    known, branch = world.record.git.beside, git.promotion
    waits = known and known == world.named and known != world.record.routing.traffic
    offers = branch is not None and branch.digest != world.named and bool(policing.beside)
    beside = known if waits else (branch.digest if branch and offers else "")
    return world if beside == known else world.with_part(replace(world.record.git, beside=beside))


def sync_pull_request(world: World) -> World:
    """Hold what a closed pull request offered. A reopened one lifts that hold, and no other."""
    pull = world.observed.git.pull
    if pull is None or pull.seen_at is None or not world.main_counts:
        return world
    match pull.state:
        case PullState.CLOSED:
            return _hold(world, pull)
        case PullState.OPEN:
            return _lift(world, pull)
        case PullState.MERGED:
            return world


def _hold(world: World, pull: PullRequest) -> World:
    candidate = world.candidate
    if candidate is None or candidate.digest == world.primary_digest or not is_declined(world, candidate):
        return world
    if pull.seen_at is None or not pull.seen_at.is_over(world.desired.looks):
        return world
    who = pull.closed_by or "somebody"
    reason = f"{who} closed pull request #{pull.number}; reopening it lifts this, too"
    return put_hold(world, candidate.digest, cause=Cause.CLOSED, reason=reason, by=pull.closed_by)


def _lift(world: World, pull: PullRequest) -> World:
    version = world.record.version(world.target_digest)
    if version is None or not is_held_by_closing(world, version.digest):
        return world
    if pull.offer != offer_of(version, world.spec):
        return world
    return lift_hold(world, version.digest, how=Says.CLEARED, reason=f"pull request #{pull.number} was reopened")


def ask_who_merged(world: World, switch: Switch, to: Version) -> World:
    """Ask who merged a promotion that was just carried out, if a forge may know."""
    if switch.switch_kind is not SwitchKind.PROMOTION or not switch.commit or not world.observed.git.has_forge:
        return world
    asked = PendingMergeLookup(switch.commit, to.digest, world.now)
    git = world.record.git
    return world.with_part(replace(git, asked_merges=(*git.asked_merges, asked)))


def sync_merge_metadata(world: World) -> World:
    """Write one entry for each answer, and one for each question without an answer in time; none if no
    forge merged it.
    """
    told = {merge.commit: merge for merge in world.observed.git.merges}
    for asked in world.record.git.asked_merges:
        answer = told.get(asked.commit)
        if answer is None and world.now < given_up_at(asked):
            continue
        world = _without(_with_merge(world, asked, answer), asked)
    return world


def _with_merge(world: World, asked: PendingMergeLookup, answer: Merge | None) -> World:
    version = world.record.version(asked.digest)
    if version is None or (answer is not None and not answer.number):
        return world
    if answer is None:
        return world.with_ledger_entry(Event.MERGED, to=version, commit=asked.commit, reason=_unknown(world))
    named = f"pull request #{answer.number} {answer.url}".rstrip()
    approved = f"approved by {', '.join(answer.approved_by)}" if answer.approved_by else "without an approval"
    return world.with_ledger_entry(
        Event.MERGED,
        to=version,
        commit=asked.commit,
        by=answer.by,
        reason=f"{named}, {approved}",
        approved_by=answer.approved_by,
    )


def _unknown(world: World) -> str:
    why = world.observed.git.pull_trouble or "the forge gave no answer in an hour"
    return f"nobody could tell who merged and who approved it: {why}"


def _without(world: World, asked: PendingMergeLookup) -> World:
    git = world.record.git
    return world.with_part(replace(git, asked_merges=tuple(each for each in git.asked_merges if each != asked)))

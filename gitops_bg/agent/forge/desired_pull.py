"""What a finished look at an app wants of the forge: from facts and decision to plain data. Reads and writes nothing.

A branch is offered only with the content that the agent itself offers: commits of people on it are theirs.
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.core.checks.gating.policies import offered_alone
from gitops_bg.core.checks.git.pulls import is_held_by_closing, is_superseded_in_place
from gitops_bg.core.checks.git.unverified import away
from gitops_bg.core.checks.policies.facts import awaits_promotion
from gitops_bg.core.checks.policies.match import asked_of_people
from gitops_bg.core.model.actions import CommitPrimary, OfferPromotion, WithdrawPromotion, label
from gitops_bg.core.model.decision import Decision, GateResult
from gitops_bg.core.model.git.pulls import PullState, offer_of
from gitops_bg.core.model.spec import PromoteVia
from gitops_bg.core.model.version import Version
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.world import World
from gitops_bg.forge.heard import Asks
from gitops_bg.forge.offer import DesiredPull, Offer, Side
from gitops_bg.spec.manifests.configuration import find
from gitops_bg.spec.manifests.configuration_changes import ConfigurationChange, configuration_changes

_ON_THE_BRANCH = (OfferPromotion, WithdrawPromotion, CommitPrimary)


def desired_pull_of(facts: Facts, decision: Decision, world: World, cluster: str, base: str) -> DesiredPull | None:
    """Return the wish; None if nothing can be concluded: main is unknown, or another agent knows more.

    ``world`` has the decided record; ``base`` is the branch that promotions are merged into.
    """
    if decision.silent or not facts.desired.seen or not world.main_counts:
        return None
    return replace(_desired(facts, decision, world, cluster, base), asks=_asks(world))


def _asks(world: World) -> Asks:
    """Return what rules ask about people, and who merged what traffic has just followed."""
    policing, record = world.desired.policing, world.record
    merges = tuple(each.commit for each in record.git.asked_merges)
    is_next = record.routing.traffic and (world.incoming or world.candidate)
    asked = asked_of_people(policing.all_policies) if policing and is_next else None
    if policing is None or not asked:
        return Asks(merges=merges)
    promotion = awaits_promotion(world.desired, record) if asked.approvals or asked.merger else ""
    return Asks(asked.approvals, promotion, policing.mergers_asked, merges)


def _desired(facts: Facts, decision: Decision, world: World, cluster: str, base: str) -> DesiredPull:
    branch, looks = facts.observed.git.promotion, facts.desired.looks
    if is_held_by_closing(world, world.target_digest):
        return DesiredPull(declined=True, looks=looks)
    if branch is None:
        is_pending = any(isinstance(action, _ON_THE_BRANCH) for action in decision.actions)
        return DesiredPull(looks=looks, settled=not is_pending and not away(facts.observed.git))
    if world.primary_digest == branch.digest:
        return DesiredPull(looks=looks)  # It is merged. Its branch may exist for a moment longer: that is no new offer.
    version = world.record.version(branch.digest)
    is_ours = version is not None and (_is_offered_by_us(world, version) or _superseding(world, version))
    if version is not None and branch.offered_here is False and not is_ours and _refused(world, version):
        offer = _offer(facts, decision, world, version, cluster, base)
        return DesiredPull(replace(offer, only_status=True), looks=looks)
    if version is None or not branch.commit or not is_ours:
        return DesiredPull(looks=looks, settled=False)
    return DesiredPull(_offer(facts, decision, world, version, cluster, base), looks=looks)


def awaits_look(facts: Facts) -> bool:
    """Return whether a closing waits for the first look at main that begins after it was seen."""
    pull = facts.observed.git.pull
    if pull is None or pull.seen_at is None or pull.state is not PullState.CLOSED:
        return False
    return not pull.seen_at.is_over(facts.desired.looks)


def _is_offered_by_us(world: World, version: Version) -> bool:
    """Return whether the agent wants it merged: the candidate, or the active version if main has another."""
    is_first = version.digest == world.record.routing.traffic and not world.record.git.primary
    if is_first or _goes_back(world, version):
        return True
    candidate, git = world.candidate, world.record.git
    by_pull_request = world.spec.promote_via is PromoteVia.PULL_REQUEST or git.offered == version.digest
    return candidate is not None and candidate.digest == version.digest and by_pull_request


def _superseding(world: World, version: Version) -> Version | None:
    """Return the newer candidate that replaces it on the branch once it is ready; None without one."""
    return world.candidate if is_superseded_in_place(world, version.digest) else None


def _goes_back(world: World, version: Version) -> bool:
    return world.record.routing.override is not None and version.digest == world.record.routing.traffic


def _offer(facts: Facts, decision: Decision, world: World, to: Version, cluster: str, base: str) -> Offer:
    branch, back = facts.observed.git.promotion, _goes_back(world, to)
    assert branch is not None
    before = world.record.version(world.primary_digest) if back else world.active
    held, objection = world.record.held(to.digest), world.record.objection(to.digest)
    return Offer(
        app=facts.app,
        cluster=cluster,
        id=offer_of(to, world.spec),
        branch=promotion_branch(facts.app),
        base=base,
        head=branch.commit,
        since=to.rollout_started_at,
        to=_side(world, to),
        before=_side(world, before) if before and before.digest != to.digest else None,
        goes_back=back,
        gates=() if back else _gates(world, decision, to),
        refused="" if back else _refused(world, to),
        bad_before=objection.reason if objection and not held else "",
        merge=world.spec.merge_when_green and not back and _superseding(world, to) is None,
        configuration=tuple(_configuration(facts, before, to)) if before else (),
    )


def _side(world: World, version: Version) -> Side:
    return Side(version.number, version.digest, version.source, world.snapshot(version).text)


def _gates(world: World, decision: Decision, version: Version) -> tuple[GateResult, ...]:
    """Return the gates of the decision, if they are of this version."""
    shown = world.incoming or world.record.version(world.target_digest)
    return decision.gates if shown is not None and shown.digest == version.digest else ()


def _refused(world: World, version: Version) -> str:
    hold, newer = world.record.held(version.digest), _superseding(world, version)
    if newer is not None:
        return f"superseded by {label(newer.number, newer.digest)}, which this will offer once it is ready"
    alone = offered_alone(world, version)
    if alone is not None and not hold:
        return alone.reason
    return f"on hold: {hold.reason}" if hold else version.failure


def _configuration(facts: Facts, before: Version, to: Version) -> Iterator[str]:
    """Yield a line for each ConfigMap and Secret that differs, as in commits; for a lost content, only that
    it differs.
    """
    sides = [[find(facts.config.configuration, ref) for ref in each.snapshot.configuration] for each in (before, to)]
    old, new = (tuple(filter(None, side)) for side in sides)
    if len(old) == len(sides[0]) and len(new) == len(sides[1]):
        yield from map(str, configuration_changes(old, new))
        return
    yield from map(str, _by_digest(before, to))


def _by_digest(before: Version, to: Version) -> Iterator[ConfigurationChange]:
    old, new = ({(ref.kind, ref.name): ref.digest for ref in each.snapshot.configuration} for each in (before, to))
    for kind, name in sorted(old.keys() | new.keys()):
        if old.get((kind, name)) != new.get((kind, name)):
            whole = "changed" if (kind, name) in old and (kind, name) in new else "added"
            yield ConfigurationChange(kind, name, whole=whole if (kind, name) in new else "removed")

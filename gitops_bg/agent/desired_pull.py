"""What a finished look at an app or a group wants of the forge: from facts to plain data. Reads and writes nothing.

Title, text and status follow the head of the branch. What people put there is theirs: it is described, with an id of
its own, so that closing it refuses nothing that the agent offered before; the agent merges none of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gitops_bg.agent.desired.environments import Entering
from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.agent.groups.leaving import OfferedGroup
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.core.checks.auxiliary import addresses_of
from gitops_bg.core.checks.entering import held_here
from gitops_bg.core.checks.gates import offered_alone
from gitops_bg.core.checks.git import is_held_by_closing, is_superseded_in_place, is_way_back
from gitops_bg.core.checks.policy_facts import awaits_promotion
from gitops_bg.core.checks.policy_judge import asked_of_people
from gitops_bg.core.checks.policy_rules import length
from gitops_bg.core.checks.release_choice import formers_asking, missing_in, moment
from gitops_bg.core.delivery.gates import carries
from gitops_bg.core.environments.proven import EnvironmentInput, KnownRelease
from gitops_bg.core.foreign_json import tag_of
from gitops_bg.core.groups.forecast import proposal_of
from gitops_bg.core.groups.record import GroupDecision
from gitops_bg.core.model.actions import CommitPrimary, EnterRelease, OfferPromotion, WithdrawPromotion, WithdrawRelease
from gitops_bg.core.model.decision import Decision, GateKind, GateResult
from gitops_bg.core.model.desired import Desired
from gitops_bg.core.model.journal import PullState, offer_of, offer_of_branch, offer_of_release
from gitops_bg.core.model.main import away
from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.spec import PromoteVia
from gitops_bg.core.model.version import EntryKey, Source, Version
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.world import World
from gitops_bg.forge.asking import Asks
from gitops_bg.forge.offer import Content, DesiredPull, EntryOffer, GroupOffer, Offer, ReleaseAt, ReleaseSide, Side
from gitops_bg.spec.app.primary import ConfigurationChange, configuration_changes
from gitops_bg.spec.environments.release import Release, canonical_text
from gitops_bg.spec.manifests.configuration import find
from gitops_bg.spec.manifests.differences import differences
from gitops_bg.spec.manifests.target import template_of

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_ON_THE_BRANCH = (OfferPromotion, WithdrawPromotion, CommitPrimary)


def desired_pull_of(
    facts: Facts | GroupFacts, decision: Decision | GroupDecision, now: datetime, cluster: str, base: str
) -> DesiredPull | None:
    """Return the wish; None if nothing can be concluded: main is unknown, or another agent knows more.

    ``base`` is the branch that promotions are merged into.
    """
    if decision.silent or not facts.desired.main.moves:
        return None
    if isinstance(facts, GroupFacts):
        assert isinstance(decision, GroupDecision)
        return replace(_desired_of_group(facts, decision, now, cluster, base), looks=facts.looks, asks=facts.asks)
    assert isinstance(decision, Decision)
    if not facts.desired.seen:
        return None
    world = facts.world(now).with_record(decision.record)
    return replace(_desired(facts, decision, world, cluster, base), looks=facts.desired.looks, asks=_asks(world))


def desired_entry_of(
    facts: Facts, decision: Decision, entering: Entering | None, now: datetime, cluster: str, base: str
) -> DesiredPull | None:
    """Return the wish of the branch that asks for a release in the app's environment; None if nothing can be concluded,
    or the app is in none that takes releases in.
    """
    environment = facts.desired.environment
    is_known = facts.desired.main.moves and facts.desired.seen and not decision.silent
    if not is_known or environment is None or not environment.formers:
        return None
    looks, git = facts.desired.looks, facts.observed.git
    is_pending = any(isinstance(action, EnterRelease | WithdrawRelease) for action in decision.actions)
    if is_pending or (environment.offered is None and away(git)):
        return DesiredPull(settled=False, looks=looks)
    here = environment.entered.id.digest if environment.entered is not None else ""
    if environment.offered is None or entering is None or entering.release.id.digest == here:
        return DesiredPull(looks=looks)
    world = facts.world(now).with_record(decision.record)
    return DesiredPull(_entry_offer(facts, world, environment, entering, cluster, base), looks=looks)


def has_left(desired: Desired, environment: str) -> bool:
    """Return whether an app takes no release into an environment any more, so that what asked for one there is over. A
    folder that nobody can read now has left nothing.
    """
    if desired.environment is not None:
        return desired.environment.name != environment
    is_known = desired.whole or not desired.in_git
    return desired.main.moves and desired.seen and is_known


def _entry_offer(
    facts: Facts, world: World, environment: EnvironmentInput, entering: Entering, cluster: str, base: str
) -> EntryOffer:
    to, key = entering.release, EntryKey(facts.app, environment.name)
    known = KnownRelease(to.id, to.id.commit)
    held = dict((*environment.held, *held_here(world)))
    missing = missing_in(formers_asking(environment), to.id)
    proof = tuple(said for name, said in missing.items() if name not in entering.by.skipped)
    now, workload = entering.now, facts.config.workload
    return EntryOffer(
        entry=key,
        cluster=cluster,
        id=offer_of_release(to.id),
        branch=promotion_branch(key),
        base=base,
        head=entering.head,
        since=to.snapshot.source.date or _LONG_AGO,
        to=_release_side(to),
        before=_release_side(now) if now is not None else None,
        gates=(GateResult(GateKind.POLICY, False, f"it is to be proven in {'; '.join(proof)}"),) if proof else (),
        refused=f"{to.id.name} is on hold: {held[to.id.digest]}" if to.id.digest in held else _wrong_with(entering),
        asked_by=entering.by.name if entering.by.by_person else "",
        skipped=tuple(name for name in missing if name in entering.by.skipped),
        where=tuple(_way(environment, known)),
        changes=tuple(_between(now, to)) if now is not None else (),
        result=tuple(_lines(workload.value, entering.workload)) if workload is not None and entering.workload else (),
    )


def _wrong_with(entering: Entering) -> str:
    """Return why what a branch asks for is not to be merged, whoever asks; empty where nothing is wrong with it."""
    to = entering.release.id
    if not entering.is_released:
        return f"no environment ever had this release, and commit {to.commit[:10]} brought another base"
    if entering.beside:
        return f"the branch {carries(entering.beside)}"
    return next(map(str, entering.problems), "")


def _release_side(release: Release) -> ReleaseSide:
    template = canonical_text(template_of(release.target))
    return ReleaseSide(f"{tag_of(template) or 'release'} ({release.id.name})", release.snapshot.source, template)


def _between(before: Release, after: Release) -> Iterator[str]:
    yield from _lines(before.target, after.target)
    yield from map(str, configuration_changes(before.configuration, after.configuration))


def _lines(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    return (line for each in differences(before, after) for line in each.lines)


def _way(environment: EnvironmentInput, release: KnownRelease) -> Iterator[ReleaseAt]:
    """Yield where a release serves on its way here, as the ledgers say."""
    for former in environment.formers:
        for each in former.clusters:
            serves = each.serves.name if each.serves is not None and not each.trouble else ""
            since = f"since {moment(each.since)}" if serves and each.since else ""
            proofs = [proof for proof in each.proven if proof.is_of(release.id.digest, release.commit)]
            longest = max(proofs, key=lambda proof: proof.seconds, default=None)
            proven = f"{release.id.name} is proven since {moment(longest.at)}" if longest is not None else ""
            if longest is not None and longest.seconds:
                proven += f", for {length(timedelta(seconds=longest.seconds))}"
            yield ReleaseAt(former.name, each.cluster, serves, each.trouble or "; ".join(filter(None, (since, proven))))


def _desired_of_group(
    facts: GroupFacts, decision: GroupDecision, now: datetime, cluster: str, base: str
) -> DesiredPull:
    offered = facts.offered
    if not isinstance(offered, OfferedGroup):
        return DesiredPull(settled=offered is None)
    asks = proposal_of(facts.group, facts.desired, offered.desired, facts.observed, decision.record, now)
    return DesiredPull(
        GroupOffer(
            facts.group, cluster, offered.id, offered.branch.name, base, offered.branch.commit, offered.since, asks
        )
    )


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
    branch = facts.observed.git.promotion
    if is_held_by_closing(world, world.target_digest) and not (branch and is_way_back(world, branch)):
        return DesiredPull(declined=True)
    if branch is None:
        settled = not _is_pending(decision) and not away(facts.observed.git)
        return DesiredPull(settled=settled)
    if world.primary_digest == branch.digest:
        return DesiredPull()  # It is merged. Its branch may exist for a moment longer: that is no new offer.
    offer = _shown(facts, decision, world, branch, cluster, base) if branch.commit else None
    return DesiredPull(offer, settled=offer is not None)


def _is_pending(decision: Decision) -> bool:
    return any(isinstance(action, _ON_THE_BRANCH) for action in decision.actions)


def _shown(
    facts: Facts, decision: Decision, world: World, branch: PromotionBranch, cluster: str, base: str
) -> Offer | None:
    """Return what is to be said of what the branch holds; None while nothing can be: it changes, or is of another
    cluster.
    """
    version, is_back = world.record.version(branch.digest), is_way_back(world, branch)
    if version is not None and (_is_offered_by_us(world, version) or _superseding(world, version)):
        return _offer(facts, decision, world, version, cluster, base)
    if version is not None and branch.offered_here is False and not is_back and _refused(world, version):
        return replace(_offer(facts, decision, world, version, cluster, base), only_status=True)
    if _is_pending(decision) or not (is_back or _is_of_others(world, branch)):
        return None
    return _described(facts, world, branch, Content.WAY_BACK if is_back else Content.OTHER, cluster, base)


def _is_of_others(world: World, branch: PromotionBranch) -> bool:
    """Return whether the branch holds what neither this agent nor another one put there, and no candidate either."""
    own = (world.record.git.offered, world.candidate.digest if world.candidate else "")
    return branch.digest not in own and branch.offered_here is not False and not away(world.observed.git)


def _described(facts: Facts, world: World, branch: PromotionBranch, content: Content, cluster: str, base: str) -> Offer:
    """Return what is said of content of people. Nothing is opened for what nobody knows, nor for what another cluster
    asks for: that one does.
    """
    known, active = world.record.version(branch.digest), world.active
    to = _side(world, known) if known else Side(0, branch.digest, Source(""))
    is_back, alone = content is Content.WAY_BACK, offered_alone(world, known) if known else None
    refused = _refused(world, known) if known and not is_back else ""
    return Offer(
        app=facts.app,
        cluster=cluster,
        id=offer_of_branch(branch.digest, branch.commit),
        branch=promotion_branch(facts.app, facts.spec.environment),
        base=base,
        head=branch.commit,
        since=active.rollout_started_at if active else _LONG_AGO,
        to=to,
        before=_side(world, active) if active else None,
        refused=alone.reason if alone else refused,
        configuration=tuple(_configuration(facts, active, known)) if active and known and is_back else (),
        only_status=not is_back or branch.offered_here is False,
        content=content,
        asked_by=branch.asked_by,
        reason=branch.reason,
    )


def awaits_poll(facts: Facts) -> bool:
    """Return whether a closing waits for the first look at main that begins after it was seen."""
    git = facts.observed.git
    closed = (each.seen_at for each in (git.pull, git.entry_pull) if each and each.state is PullState.CLOSED)
    return any(seen_at is not None and not seen_at.is_over(facts.desired.looks) for seen_at in closed)


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
    return world.record.override is not None and version.digest == world.record.routing.traffic


def _offer(facts: Facts, decision: Decision, world: World, to: Version, cluster: str, base: str) -> Offer:
    branch, back = facts.observed.git.promotion, _goes_back(world, to)
    assert branch is not None
    before = world.record.version(world.primary_digest) if back else world.active
    held, objection = world.record.held(to.digest), world.record.objection(to.digest)
    return Offer(
        app=facts.app,
        cluster=cluster,
        id=offer_of(to, world.spec),
        branch=promotion_branch(facts.app, facts.spec.environment),
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
        address=next(iter(addresses_of(world, to.digest)), ""),
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
        return f"superseded by {newer.name}, which this will offer once it is ready"
    alone = offered_alone(world, version)
    if alone is not None and not hold:
        return alone.reason
    return f"on hold: {hold.why}" if hold else version.failure


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

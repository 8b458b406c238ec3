"""What policies ask about the services of a group that is to be promoted: from main, the members' records, and people.

People are asked about once for the group: one commit promotes all services, and whoever looks at it approves them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gitops_bg.agent.desired.policing import PolicyInputs
from gitops_bg.agent.desired.reading import Entry, Reading
from gitops_bg.agent.groups.promoted import GroupVersions
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.checks.policy_facts import described_by
from gitops_bg.core.checks.policy_judge import asked_of_people
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.groups.inputs import DesiredGroup, MemberPolicing
from gitops_bg.core.groups.model import GroupState, VersionStage
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.policy_facts import Approval, PolicyInput, VersionFacts
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, GroupKey, Snapshot, Source
from gitops_bg.forge.asking import NO_ASKS, Asks
from gitops_bg.repo.repository import Repository

_NOTHING_KNOWN = VersionFacts("")


@dataclass(frozen=True, slots=True)
class PolicingOfGroup:
    """What policies ask about a promotion, and what the forge is asked for them."""

    members: Mapping[str, MemberPolicing] = field(default_factory=dict)
    """By the name of the service's app; those that no policy is for have none."""
    asks: Asks = NO_ASKS


class GroupPolicing:
    """Only reads. Nothing is read unless group.yaml names a version that neither serves nor did so last."""

    def __init__(self, facts: PolicyInputs, repository: Repository, cluster: Cluster) -> None:
        self._facts = facts
        self._versions = GroupVersions(repository)
        self._cluster = cluster

    def of(
        self, reading: Reading, group: GroupKey, desired: DesiredGroup, state: GroupState, *, promoted: bool = True
    ) -> PolicingOfGroup:
        """Return what policies ask, also of a version that is registered only now. ``promoted`` False: no commit of
        main names it yet, but a branch.
        """
        spec = desired.spec
        if spec is None or state.stage(spec.active) in (VersionStage.ACTIVE, VersionStage.LEGACY):
            return PolicingOfGroup()
        promotion, unknown = self.promotion_of(group, spec.active, desired.commit) if promoted else (None, "")
        version = desired.versions.get(spec.active)
        found: dict[str, MemberPolicing] = {}
        for service in version.services if version is not None else ():
            app = AppKey(group.namespace, member_name(service, spec.active))
            entry = reading.entry(app)
            asked = self._of_member(reading, app, entry, promotion, unknown) if entry is not None else None
            if asked is not None:
                found[app.name] = replace(asked, serving=self._serving(group, state, service), promoted=promoted)
        return self._with_people(reading, group, desired, found, promotion)

    def promotion_of(self, group: GroupKey, version: str, main: str) -> tuple[Source | None, str]:
        """Return the commit since which main names a version; or None, and why it is unknown."""
        try:
            found = self._versions.promotion_of(group, version, main)
        except GitopsBgError as error:
            return None, str(error)
        return found, "" if found is not None else f"main does not say since when {version} is named"

    def _with_people(
        self,
        reading: Reading,
        group: GroupKey,
        desired: DesiredGroup,
        members: Mapping[str, MemberPolicing],
        promotion: Source | None,
    ) -> PolicingOfGroup:
        """Add what rules of any service ask about people; for nobody else is anything asked."""
        asked = asked_of_people(policy for each in members.values() for policy in each.policing.all_policies)
        assert desired.spec is not None
        version, main = desired.spec.active, desired.commit
        if not asked:
            return PolicingOfGroup(members)
        try:
            self._versions.fetch_reviewed(self._facts.heard(group), main)
        except GitopsBgError as error:
            return PolicingOfGroup({name: _shut(each, str(error)) for name, each in members.items()})
        named = promotion.commit if promotion is not None else ""
        of = self._versions.of(group, version, main, promotion=named, heard=self._facts.heard(group))
        people = self._facts.group_people(reading, group, asked, of)
        asks = Asks(asked.approvals, named if asked.approvals or asked.merger else "", people.mergers_asked)
        return PolicingOfGroup({name: _with(people, each, of.digest) for name, each in members.items()}, asks)

    def _of_member(
        self, reading: Reading, app: AppKey, entry: Entry, promotion: Source | None, unknown: str
    ) -> MemberPolicing | None:
        commit = promotion.commit if promotion is not None else ""
        policing = self._facts.of_member(reading, app, entry.config, commit, unknown)
        target = entry.config.target
        if policing is None or target is None:
            return None  # Without a target it is not healthy, so that nothing moves.
        version = self._record(app).version(target.snapshot.digest)
        since = version.available_since if version is not None else None
        return MemberPolicing(
            policing, promotion, _facts_of(target.snapshot, target.source.commit), available_since=since
        )

    def _serving(self, group: GroupKey, state: GroupState, service: str) -> VersionFacts:
        """What the group's active version runs for a service; for one that is new there, nothing that is known."""
        active = state.only(VersionStage.ACTIVE)
        for each in state.endpoints:
            if (each.service, each.version) == (service, active):
                record = self._record(AppKey(group.namespace, member_name(service, each.initial_version)))
                version = record.version(record.routing.traffic)
                return _facts_of(version.snapshot, version.source.commit) if version else _NOTHING_KNOWN
        return _NOTHING_KNOWN

    def _record(self, app: AppKey) -> Record:
        """The record of a member; an empty one where it cannot be read: nothing is known then."""
        try:
            return self._cluster.record(app)
        except GitopsBgError:
            return Record()


def _with(people: PolicyInput, member: MemberPolicing, digest: str) -> MemberPolicing:
    """Return what a member's rules are judged by: who approved the version of the group approved the member's."""

    def of_member(approval: Approval) -> Approval:
        return replace(approval, digest=member.to.digest) if approval.digest == digest else approval

    policing = replace(
        member.policing,
        approvals=tuple(map(of_member, people.approvals)) if people.approvals is not None else None,
        authors=people.authors,
        merger=people.merger,
        merge=of_member(people.merge) if people.merge is not None else None,
        unheard=people.unheard,
    )
    return replace(member, policing=policing)


def _shut(member: MemberPolicing, unread: str) -> MemberPolicing:
    return replace(member, policing=replace(member.policing, unheard=unread))


def _facts_of(snapshot: Snapshot, source: str) -> VersionFacts:
    images, label = described_by(snapshot.text)
    return VersionFacts(snapshot.digest, label=label, images=images, source_commit=source)

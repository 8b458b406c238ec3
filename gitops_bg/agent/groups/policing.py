"""What policies ask about the services of a group that is to be promoted: from main, and from the members' records."""

from collections.abc import Mapping
from dataclasses import replace

from gitops_bg.agent.desired.policing import PolicingFacts
from gitops_bg.agent.desired.reading import Entry, Reading
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.checks.policies.facts import described_by
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.groups.desired import DesiredGroup, MemberPolicing
from gitops_bg.core.groups.model import GroupKey, GroupState, VersionStage
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.policies.facts import VersionFacts
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, Snapshot
from gitops_bg.spec.groups.layout import GROUP_FILE, group_folder

_NOTHING_KNOWN = VersionFacts("")


class GroupPolicing:
    """Only reads. Nothing is read unless group.yaml names a version that neither serves nor did so last."""

    def __init__(self, facts: PolicingFacts, cluster: Cluster) -> None:
        self._facts = facts
        self._cluster = cluster

    def of(
        self, reading: Reading, group: GroupKey, desired: DesiredGroup, state: GroupState
    ) -> Mapping[str, MemberPolicing]:
        """Return what policies ask, by the name of the service's app; also of a version that is registered only now."""
        spec = desired.spec
        if spec is None or state.stage(spec.active) in (VersionStage.ACTIVE, VersionStage.LEGACY):
            return {}
        promotion, unknown = self._facts.promotion_of(f"{group_folder(group)}/{GROUP_FILE}")
        version = desired.versions.get(spec.active)
        found: dict[str, MemberPolicing] = {}
        for service in version.services if version is not None else ():
            app = AppKey(group.namespace, member_name(service, spec.active))
            entry = reading.entry(app)
            asked = self._of_member(reading, app, entry, promotion, unknown) if entry is not None else None
            if asked is not None:
                found[app.name] = replace(asked, serving=self._serving(group, state, service))
        return found

    def _of_member(
        self, reading: Reading, app: AppKey, entry: Entry, promotion: str, unknown: str
    ) -> MemberPolicing | None:
        policing = self._facts.of_member(reading, app, entry.config, promotion, unknown)
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


def _facts_of(snapshot: Snapshot, source: str) -> VersionFacts:
    images, label = described_by(snapshot.text)
    return VersionFacts(snapshot.digest, label=label, images=images, source_commit=source)

"""What policies ask about a release group that is to be promoted: about its services, from main and the members'
records, and about people, by what a reviewed commit would promote and who wrote it.

People are asked about once for the group: one commit promotes all services, and whoever looks at it approves them all.
Decides nothing. The counterpart for apps is `agent.desired.policy_inputs`, with `agent.desired.provenance`.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial

from cachetools import LRUCache

from gitops_bg.agent.desired.policy_inputs import PolicyInputs
from gitops_bg.agent.desired.promoted import WrittenBy, written_by
from gitops_bg.agent.desired.reading import AppEntry, Reading
from gitops_bg.agent.groups.leaving import GroupFolders
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.checks.policy_facts import described_by
from gitops_bg.core.checks.policy_judge import asked_of_people
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.groups.inputs import DesiredGroup, MemberPolicing
from gitops_bg.core.groups.model import GroupState, VersionStage, version_number
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.policy_facts import Approval, CommitFacts, PolicyInput, VersionFacts
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, GroupKey, Snapshot, Source
from gitops_bg.forge.asking import NO_ASKS, Asks, ForgeAnswer
from gitops_bg.repo.read.history import differs, unchanged_since
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import GROUP_FILE, GROUPS_FOLDER, group_folder
from gitops_bg.spec.groups.content import active_in, content_of, promoted_by

_REMEMBERED = 500
_ONLY = "primary.yaml and group.yaml"


class GroupVersions:
    """The next versions of groups of one repository, whose lock makes it thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._folders = GroupFolders(repository)
        self._contents: LRUCache[tuple[GroupKey, str, str], str] = LRUCache(_REMEMBERED)
        self._named: LRUCache[tuple[GroupKey, str, str], Source | None] = LRUCache(_REMEMBERED)
        self._judged: LRUCache[tuple[GroupKey, str], frozenset[str]] = LRUCache(_REMEMBERED)
        self._missing: dict[str, str] = {}
        """The commits that the remote did not give, each with main's head at that time."""

    def of(
        self, group: GroupKey, version: str, main: str, *, promotion: str = "", heard: ForgeAnswer | None = None
    ) -> "VersionFolder":
        """Return a version as main has it at a commit; ``promotion`` has brought it, if it waits; ``heard`` is what a
        forge said of its pull request.
        """
        head = heard.pull.head if heard is not None and heard.pull is not None else ""
        return VersionFolder(self, group, version, main, promotion, head)

    def promotion_of(self, group: GroupKey, version: str, main: str) -> Source | None:
        """Return the commit since which ``group.yaml`` names a version: whatever else is edited in it later brings no
        promotion. Raises the errors of ``core.errors``; None where main does not name it.
        """
        key = (group, version, main)
        if key not in self._named:

            def says(data: bytes) -> bool | None:
                named = active_in(data)
                return named == version if named else None  # Unknown: the value known before holds.

            path = self.repository.path_of(group, GROUP_FILE)
            since = unchanged_since(self.repository.changes_of_file(path, main, enough=differs(says)), says)
            self._named[key] = since.landing if since is not None else None
        return self._named[key]

    def judged(self, group: GroupKey, main: str) -> frozenset[str]:
        """Return the ids of the contents that versions had when they were promoted, or were the first: whoever wrote
        these wrote nothing that is new in a copy. Raises the errors of ``core.errors``.

        A rollback judges nothing, so that what a folder got since its promotion is as new as any other.
        """
        if (group, main) not in self._judged:
            folder, newest, found = group_folder(group), 0, frozenset[str]()
            for said in reversed(self.repository.changes_of_file(f"{folder}/{GROUP_FILE}", main)):
                active = active_in(said.content) if said.content is not None else ""
                if version_number(active) > newest:
                    newest = version_number(active)
                    below = self.repository.files_below(f"{folder}/{active}", said.landing.commit)
                    found |= {file.blob for file in below.values()}
            self._judged[group, main] = found
        return self._judged[group, main]

    def fetch_reviewed(self, heard: ForgeAnswer | None, main: str) -> None:
        """Fetch what people looked at, once for each head of main: the branch of their pull request may be anybody's,
        and be gone since.
        """
        head = (heard.pull.head,) if heard is not None and heard.pull is not None else ()
        reviewed = (review.commit for review in heard.reviews or ()) if heard is not None else ()
        for commit in dict.fromkeys((*head, *reviewed)):
            if self._missing.get(commit) != main and not self.repository.mirror.fetch_commit(commit):
                self._missing[commit] = main
        if len(self._missing) > _REMEMBERED:
            self._missing.clear()

    def content_at(self, group: GroupKey, commit: str, version: str = "") -> str | None:
        """Return what a commit would promote, or, with ``version``, what it has of that; None where nobody can read
        it.
        """
        key = (group, commit, version)
        if key not in self._contents and (found := self._read(group, commit, version)) is not None:
            self._contents[key] = found
        return self._contents.get(key)

    def _read(self, group: GroupKey, commit: str, version: str) -> str | None:
        try:
            if not self.repository.mirror.has(commit):
                return None
            files = self._folders.files(group, commit)
        except GitopsBgError:
            return None
        if not version:
            return promoted_by(files)
        content = content_of(files, version)
        return f"{version}@{content}" if content is not None else None


@dataclass(frozen=True, slots=True)
class VersionFolder:
    """A version of a group, by its folder in main. See `agent.desired.promoted.Promoted`."""

    _versions: GroupVersions
    _group: GroupKey
    _version: str
    _main: str
    _promotion: str
    _head: str
    """What the pull request holds, or held; empty where there is none."""

    @property
    def digest(self) -> str:
        """The version, and the digest of its folder: of a commit with any other content nothing was approved."""
        return self._versions.content_at(self._group, self._main, self._version) or ""

    @property
    def promotion(self) -> str:
        """The commit since which main's ``group.yaml`` names it; empty before that."""
        return self._promotion

    def digest_at(self, commit: str) -> str | None:
        """See `Promoted.digest_at`."""
        return self._versions.content_at(self._group, commit)

    def written(self, agent: str) -> WrittenBy:
        """Return all who ever changed the folder of the version, or wrote what it has before somebody copied or renamed
        it: whoever names too many takes approvals away, and gives none.

        By main's history and by that of the pull request, for a squash may name one author of many. The agent writes
        there, too, but it only removes folders.
        """
        folder, found = f"{group_folder(self._group)}/{self._version}", dict[str, CommitFacts]()
        for head in dict.fromkeys(filter(None, (self._main, self._head))):
            written = self._written_at(head, folder, agent)
            if written.commits is None:
                return written
            found |= {each.commit: each for each in written.commits}
        return WrittenBy(tuple(found.values()))

    def _written_at(self, head: str, folder: str, agent: str) -> WrittenBy:
        repository = self._versions.repository
        try:
            if not repository.mirror.has(head):
                return WrittenBy(None, f"nobody can read {head[:10]}: promote it again")
            commits = repository.changes.below(folder, head)
            judged = self._versions.judged(self._group, self._main)
            brought = repository.changes.brought(folder, GROUPS_FOLDER, head, judged)
            if commits is None or brought is None:
                return WrittenBy(None, f"the commits that changed {folder} are not all here")
            elsewhere, both = {each.commit for each in brought}, {each.commit: each for each in (*commits, *brought)}
            wrote = partial(repository.changes.wrote_below, folder, head)
            return written_by(tuple(both.values()), agent, lambda each: each in elsewhere or wrote(each), _ONLY)
        except GitopsBgError as error:
            return WrittenBy(None, f"nobody can read who changed {folder}: {error}")


_NOTHING_KNOWN = VersionFacts("")


@dataclass(frozen=True, slots=True)
class GroupPolicyInput:
    """What policies ask about a promotion, and what the forge is asked for them."""

    members: Mapping[str, MemberPolicing] = field(default_factory=dict)
    """By the name of the service's app; those that no policy is for have none."""
    asks: Asks = NO_ASKS


class GroupPolicyInputs:
    """Only reads. Nothing is read unless group.yaml names a version that neither serves nor did so last."""

    def __init__(self, facts: PolicyInputs, repository: Repository, cluster: Cluster) -> None:
        self._facts = facts
        self._versions = GroupVersions(repository)
        self._cluster = cluster

    def of(
        self, reading: Reading, group: GroupKey, desired: DesiredGroup, state: GroupState, *, promoted: bool = True
    ) -> GroupPolicyInput:
        """Return what policies ask, also of a version that is registered only now. ``promoted`` False: no commit of
        main names it yet, but a branch.
        """
        spec = desired.spec
        if spec is None or state.stage(spec.active) in (VersionStage.ACTIVE, VersionStage.LEGACY):
            return GroupPolicyInput()
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
    ) -> GroupPolicyInput:
        """Add what rules of any service ask about people; for nobody else is anything asked."""
        asked = asked_of_people(policy for each in members.values() for policy in each.policing.all_policies)
        assert desired.spec is not None
        version, main = desired.spec.active, desired.commit
        if not asked:
            return GroupPolicyInput(members)
        try:
            self._versions.fetch_reviewed(self._facts.heard(group), main)
        except GitopsBgError as error:
            return GroupPolicyInput({name: _shut(each, str(error)) for name, each in members.items()})
        named = promotion.commit if promotion is not None else ""
        of = self._versions.of(group, version, main, promotion=named, heard=self._facts.heard(group))
        people = self._facts.group_people(reading, group, asked, of)
        asks = Asks(asked.approvals, named if asked.approvals or asked.merger else "", people.mergers_asked)
        return GroupPolicyInput({name: _with(people, each, of.digest) for name, each in members.items()}, asks)

    def _of_member(
        self, reading: Reading, app: AppKey, entry: AppEntry, promotion: Source | None, unknown: str
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
        """Return what the group's active version runs for a service; for one that is new there, nothing that is
        known.
        """
        active = state.only(VersionStage.ACTIVE)
        for each in state.endpoints:
            if (each.service, each.version) == (service, active):
                record = self._record(AppKey(group.namespace, member_name(service, each.initial_version)))
                version = record.version(record.routing.traffic)
                return _facts_of(version.snapshot, version.source.commit) if version else _NOTHING_KNOWN
        return _NOTHING_KNOWN

    def _record(self, app: AppKey) -> Record:
        """Return the record of a member; an empty one where it cannot be read: nothing is known then."""
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

"""What Git says about every app: refreshed by the Git thread, read by all others.

The Git thread replaces a whole `Reading` at a time. Further questions of workers (how main relates to a record, what an
app's history says) are answered for the reading that they hold. Decides nothing, writes nothing.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from gitops_bg.agent.desired.environments import EnvironmentInputs
from gitops_bg.agent.desired.lineage import LASTING_POLLS, Followed, LastPoll, Lineage, PollCounter, RequestedPolls
from gitops_bg.agent.desired.peers import RolloutRegistry
from gitops_bg.agent.desired.people import ForgeLookup
from gitops_bg.agent.desired.policy_inputs import PolicyInputs
from gitops_bg.agent.desired.promoted import Revisions
from gitops_bg.agent.desired.provenance import Journals, makers_of
from gitops_bg.agent.desired.reader import MainReader
from gitops_bg.agent.desired.reading import AppEntry, Reading
from gitops_bg.agent.reconcile.contests import RewriteReports
from gitops_bg.core.checks.git import asks_main, asks_of_file
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, guarded
from gitops_bg.core.groups.inputs import GroupSpec
from gitops_bg.core.groups.record import GroupRecord, MemberState
from gitops_bg.core.model.desired import Desired, LedgerMemory, Missing, Primary, Problem, Target
from gitops_bg.core.model.journal import Entry as JournalEntry
from gitops_bg.core.model.journal import PollCount, PullRequest, PullView
from gitops_bg.core.model.main import Knowledge, Main, MainRead, SourceVerification, describe
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import AppKey, AppOrGroup, EntryKey, GroupKey, PullSubject
from gitops_bg.forge.address import commit_url
from gitops_bg.repo.git.errors import MainNotVerified
from gitops_bg.repo.ledger.ledger_file import NOWHERE, Position
from gitops_bg.repo.read.polling import Poll
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.load import AppConfig

LOGGER = logging.getLogger(__name__)

Document = TypeVar("Document", Target, Primary)


@dataclass(frozen=True, slots=True)
class Refresh:
    """The result of a look at the remote: what to look at again, and whether main moved."""

    dirty: frozenset[AppOrGroup]
    moved: bool


class Catalog:
    """The apps of one repository that this agent manages; ``namespaces`` empty means all.

    ``remembered`` gives the mains that live records name, because a new mirror has seen none itself.
    """

    def __init__(
        self,
        repository: Repository,
        namespaces: Iterable[str] = (),
        remembered: Callable[[], Iterable[Main]] = tuple,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._repository = repository
        self._namespaces = frozenset(namespaces)
        self._lineage = Lineage(repository, remembered, clock)
        self._reader = MainReader(repository, self.cares_for)
        self._rewrite_reports = RewriteReports()
        self._journals = Journals(repository)
        self._revisions = Revisions(repository)
        self.board = RolloutRegistry(self.subjects)
        self.policing = PolicyInputs(repository)
        self.environments = EnvironmentInputs(repository)
        self._asks_for_more = False
        self._positions: Mapping[AppOrGroup, Position] = {}
        self._doubts: Mapping[AppOrGroup, str] = {}
        self._ledger_is_known = False
        self._ledger_at = ("", "")
        """Where the state branch is, and the commit whose files count there."""
        self.policy_log_doubt = ""
        """Why the file of policies there is not believed."""
        self.ledger_trouble = ""
        """Why nobody can tell yet whose the new commits of the state branch are."""
        self._lookout = PollCounter()
        self.asked_looks = RequestedPolls(self.poll_count, repository.mirror.is_ancestor)
        self._late: set[AppOrGroup] = set()
        self.reading = Reading()
        """The last reading; a decision takes it once."""
        self.last_look = LastPoll(clock)
        self.verification: SourceVerification | None = None
        """What became of main's signatures at the last look; None where nobody asks for them."""
        self.main_refused = ""
        self.refusal_of: Callable[[str], str] = lambda _: ""
        """Why the remote refuses a branch, or empty; set by the writer (`batching`)."""
        self.waits_to_tell: Callable[[AppOrGroup], bool] = lambda _: False
        """Whether this agent has still to write something of it into the ledger; set by the writer."""
        self.member_state_of: Callable[[AppKey], MemberState | None] = lambda _: None
        """What the group of a member says of it; None for an app that is no member. Set by who looks at groups."""

    def connect_forge(self, pull_view: Callable[[PullSubject], PullView | None], heard: ForgeLookup) -> None:
        """Ask here from now on what a forge shows of an app or a group, and says of people."""
        self.policing.pull_view, self.policing.heard = pull_view, heard

    @property
    def repository(self) -> Repository:
        """Where it reads."""
        return self._repository

    # --- read by everybody ------------------------------------------------------------------------------------

    @property
    def seen(self) -> bool:
        """Whether main was read at least once in this process."""
        return bool(self.commit)

    @property
    def unreachable(self) -> str:
        """The words of the last look that was in vain; empty where it was answered."""
        unread = self.last_look.unread
        return unread.words if unread else ""

    @property
    def commit(self) -> str:
        """The head of main that is followed; empty before the first reading."""
        return self.reading.followed.commit

    @property
    def rewritten(self) -> str:
        """The commit that main no longer contains although it was seen; empty while main goes forward."""
        return self.reading.followed.lost

    @property
    def held(self) -> str:
        """Why main is read up to an older commit than its head, or not at all: a signature is missing. Else empty."""
        held = self.verification.held if self.verification else None
        return describe(held) if held else ""

    @property
    def standing(self) -> tuple[bool, str, bool]:
        """The state of main whose change makes every app be looked at again."""
        return self.reading.followed.standing

    def commit_url(self, commit: str) -> str:
        """Return the page of a commit, as far as the repository's URL and its settings say which forge it is on."""
        forge = self.reading.settings.forge
        kind, address = (forge.type or "", forge.url or "") if forge else ("", "")
        return commit_url(self._repository.settings.url, commit, kind=kind, address=address)

    def branch_of(self, subject: PullSubject) -> str:
        """Return the branch that asks for a version of an app, or of a release group."""
        return self._repository.branch_of(subject)

    def apps(self) -> frozenset[AppKey]:
        """Return the apps of main that this agent manages."""
        return self.reading.apps

    def subjects(self) -> frozenset[AppOrGroup]:
        """Return the apps and the release groups of main that this agent manages."""
        return self.reading.apps | self.reading.groups.keys()

    @property
    def namespaces(self) -> frozenset[str]:
        """Those of this agent; empty means all."""
        return self._namespaces

    def cares_for(self, subject: AppOrGroup) -> bool:
        """Return whether an app or a group is in one of our namespaces."""
        return not self._namespaces or subject.namespace in self._namespaces

    # --- asked by workers -------------------------------------------------------------------------------------

    def main_read(self, reading: Reading, who: AppOrGroup, known: Main, lost: str) -> MainRead:
        """Return main as it was read, for an app or a group whose record was decided from the main ``known``, and
        names a ``lost`` commit or none.
        """
        followed, reports = reading.followed, self._rewrite_reports
        may_report = reports.may_report(who, followed.lost, followed.polls, shown=bool(lost))
        return MainRead(
            Main(followed.commit, followed.generation, reading.tree(who)),
            self._relation(followed, who, known, lost) if may_report or not followed.lost else Knowledge.REWRITTEN,
            followed.lost if may_report else "",
            followed.lasts and reports.stood(who, followed.polls) >= LASTING_POLLS,
        )

    def _relation(self, followed: Followed, who: AppOrGroup, known: Main, lost: str) -> Knowledge:
        """Return how main relates to the one that a record was decided from, and to a commit that agents have lost
        since.
        """
        reachable = not self.unreachable
        found = self._lineage.relation(followed, who, known, reachable=reachable)
        if not (found.counts and lost) or followed.lost:
            return found
        return self._lineage.relation(followed, who, Main(lost, known.generation), reachable=reachable)

    def record_saved(self, who: AppOrGroup, before: str, after: str) -> None:
        """Note a saved record that names a lost commit ``after`` a decision: if it is new, this process reported it."""
        if after and not before:
            self._rewrite_reports.reported(who, self.rewritten, self.reading.followed.polls)

    def poll_count(self) -> PollCount:
        """Return the count of looks at main, to date observations outside of Git."""
        return self._lookout.count(self.reading.look)

    def waits_for_poll(self, app: AppKey) -> bool:
        """Note that an app waits for the next look at main; return whether that is new."""
        return self._lookout.wait(app)

    def pinned(self, reading: Reading, app: AppKey, config: AppConfig, record: Record) -> AppConfig:
        """Return the description of an app with the version that its ``revision`` names, if any, as its target."""
        return self._revisions.pinned(app, config, record, reading.followed.commit)

    def desired(self, reading: Reading, app: AppKey, config: AppConfig, record: Record, main: MainRead) -> Desired:
        """Return what the core needs to know of the app described by ``config``; one that main lacks is not ``in_git``.

        The ledger is read only where there is no record (DESIGN §4.7). Until this process has read the remote, nothing
        is known of main, and nothing is concluded from that.
        """
        followed, auxiliary_objects, entry = reading.followed, config.auxiliary_objects, reading.found(app)
        is_there = entry is not None or not main.counts
        never_described = entry is not None and entry.config.spec is None and not record.routing.traffic
        target, primary = (None, None) if never_described else (config.target, config.primary)
        desired = Desired(
            commit=main.at.commit,
            target=_document(target, reading, there=entry is not None and entry.has_target),
            primary=_document(primary, reading, there=entry is not None and entry.has_primary),
            problems=_once((*config.problems, *reading.settings_problems, *reading.environment.problems)),
            in_git=is_there,
            moved_to="" if is_there else reading.moved_to(app, record.last_read.moved_to, config.spec),
            history_rewritten=main.lost,
            memory=self._repository.ledger.memory(app) if _needs_memory(reading, record) else None,
            history_lasts=main.lasts,
            knowledge=main.knowledge,
            generation=main.at.generation,
            tree=main.at.tree,
            auxiliary_objects=() if never_described else tuple(auxiliary_objects.manifests),
            autoscaler=None if never_described else auxiliary_objects.autoscaler,
            route=None if never_described else auxiliary_objects.route,
            whole=auxiliary_objects.whole,
            ports=config.ports,
            looks=self._lookout.count(reading.look),
        )
        if entry is None or not followed.commit:
            return desired
        desired = replace(desired, environment=self.environments.of(reading, app, entry))
        desired = self._with_journal(desired, entry, app, config.spec, record)
        return self._with_policing(desired, reading, app, config, record)

    def _with_policing(
        self, desired: Desired, reading: Reading, app: AppKey, config: AppConfig, record: Record
    ) -> Desired:
        """Add the policies of the app, and the facts that they ask for; nothing where no policy is for it."""
        policing = self.policing.of(reading, app, config, desired, record)
        return desired if policing is None else replace(desired, policing=policing)

    def asked_of_group(
        self, group: GroupKey, spec: GroupSpec, record: GroupRecord, commit: str
    ) -> tuple[tuple[JournalEntry, ...], ...]:
        """Return what ``group.yaml`` asked for that is new to the record: retries, suspensions."""
        return self._journals.of_file(group, spec, asks_of_file(spec, record), commit)

    def _with_journal(
        self, desired: Desired, entry: AppEntry, app: AppKey, spec: AppSpec | None, record: Record
    ) -> Desired:
        """Add what main said beyond its present files, only where the core asks for it."""
        asked, makers, target = asks_main(spec, desired, record), tuple[str, ...](), desired.target
        if target and asked.who_brought:
            try:
                with guarded(f"reading who brought the target of {app}"):
                    makers = makers_of(self._repository, app, entry)
                    brought = self._journals.source(app, entry.commit, makers) if makers != entry.makers else None
                desired = replace(desired, target=replace(target, source=brought or target.source))
            except GitopsBgError as error:
                LOGGER.warning("%s: nobody can tell now who brought its target: %s", app, error)
                self._lookout.wait(app)
                desired, asked = replace(desired, target=Missing.UNREADABLE), replace(asked, reverts=False)
        return replace(desired, journal=self._journals.of(app, spec, asked, entry.commit, makers))

    def git_view(self, reading: Reading, subject: AppOrGroup, remembered: PullRequest | None = None) -> GitView:
        """Return what Git last showed of an app or a group, its branch and its ledger, and a forge of its pull request.

        ``remembered`` is the pull request in its status: it counts until this process knows better.
        """
        position, shown = self._positions.get(subject, NOWHERE), self.policing.pull_view(subject)
        shown = shown or PullView(remembered)
        of_entry, environment = PullView(), reading.environment.name
        if isinstance(subject, AppKey) and environment:
            of_entry = self.policing.pull_view(EntryKey(subject, environment)) or of_entry
        return GitView(
            promotion=reading.promotions.get(subject) if isinstance(subject, AppKey) else None,
            main_refused=self.main_refused,
            **self.last_look.for_status,
            verification=self.verification,
            offer_refused=self._trouble_with(self._repository.branch_of(subject)),
            ledger_refused=self._trouble_with(self._repository.settings.state_branch),
            ledger_epoch=position.epoch,
            ledger_sequence=position.sequence,
            ledger_is_known=self._ledger_is_known,
            ledger_doubt=self._doubts.get(subject, ""),
            pull=shown.pull,
            entry_pull=of_entry.pull,
            pull_queued=shown.queued or of_entry.queued,
            pull_trouble=shown.trouble or of_entry.trouble,
            has_forge=reading.settings.forge is not None,
        )

    def git_view_of_group(
        self, reading: Reading, group: GroupKey, record: GroupRecord, live: PullRequest | None
    ) -> GitView:
        """Do as `git_view`. Where the record is lost nobody knows how far the ledger got before it has what this agent
        decided by that record.
        """
        view = self.git_view(reading, group, live)
        if not (_is_lost(record) and self.waits_to_tell(group)):
            return view
        return replace(view, ledger_is_known=False, ledger_epoch="", ledger_sequence=0)

    def memory_of(self, group: GroupKey, record: GroupRecord) -> LedgerMemory | None:
        """Return what the ledger knows of a group whose record is lost, or began without it, once it has what this
        agent decided by that record; None where nobody asks, or nobody can tell. Raises as ``Repository.memory``.

        As long as the group takes over from a former name, that is what the ledger knows of that one.
        """
        branch, about = self._repository.settings.state_branch, replace(group, name=record.succeeds or group.name)
        is_unknown = bool(self.ledger_trouble or self._repository.mirror.unread(branch)) or not self.seen
        if is_unknown or not _is_lost(record) or self.waits_to_tell(about):
            return None
        return self._repository.ledger.memory(about) or LedgerMemory()

    def _trouble_with(self, branch: str) -> str:
        """Return why a branch cannot be written: first that it cannot be read, of which a refusal may be the result."""
        return self._repository.mirror.unread(branch) or self.refusal_of(branch)

    # --- refreshed by the Git thread --------------------------------------------------------------------------

    def refresh(self) -> Refresh:
        """Look at the remote and read what moved; once more where main names other environments than before, whose
        ledgers the first look did not ask for. Raises the errors of ``Repository.poll``.
        """
        first = self._refresh_once()
        if not self._asks_for_more:
            return first
        self._asks_for_more = False
        second = self._refresh_once()
        return Refresh(first.dirty | second.dirty, first.moved or second.moved)

    def _refresh_once(self) -> Refresh:
        awaited, look = self._lineage.awaited(), self._lookout.begin()
        moved = self._poll(awaited, look)
        self.last_look.was_read()
        dirty, self._late = frozenset(self._late), set()
        return Refresh(dirty | self._lookout.end(), moved)

    def _poll(self, awaited: frozenset[str], look: int) -> bool:
        """Look once, and take over what moved; whether anything did."""
        try:
            poll = self._repository.poll()
        except MainNotVerified as error:
            self.verification = error.verification
            raise
        self._reader.apply(poll)
        try:
            self._apply_poll(poll, awaited, look)
        except Exception:
            if poll.moved:
                self._repository.poller.repeat()  # or the next poll would find nothing new, losing this
            raise
        return poll.moved

    def _apply_poll(self, poll: Poll, awaited: frozenset[str], look: int) -> None:
        """Read what moved, then replace the reading at once; `_late` keeps what is concerned."""
        before = self.reading.followed
        if self.verification != poll.verification:
            self.verification = poll.verification
            self._late |= self.apps()
        followed = self._lineage.contains(self._lineage.judge(poll, self._reader.generation))
        if poll.moved or not before.commit:
            self._late |= self._reader.read_promotions()
        if not followed.lost:
            self._late |= self._reader.read()
            self._rewrite_reports.forget()
        self._late |= self.read_positions()  # after gitops-bg.yaml, which names the agent
        policies = self.reading.policies
        self.reading = replace(self._reader.reading(self.reading), followed=followed, look=look)
        if policies is not self.reading.policies:
            self.board.begin()
        concerned, is_new = self.environments.read(self.reading.environment, self.reading.policies.policies)
        self._late |= set(filter(self.cares_for, concerned))
        self._asks_for_more = self._asks_for_more or is_new
        self._late |= self._lineage.follow(followed) | self._lineage.asked(awaited)
        if followed.polls != before.polls:
            self._late.update(self._rewrite_reports.due(followed.polls, LASTING_POLLS))
        if before.standing != followed.standing:
            self._late |= self.apps()

    def awaiting(self) -> frozenset[AppKey]:
        """Return the apps that wait for a main that the remote is asked for."""
        return self._lineage.awaiting()

    def read_positions(self) -> set[AppOrGroup]:
        """Read how far the ledger got, and what of it is doubted; return those for which either changed."""
        before, now = self._positions, self._repository.ledger.positions()
        self.ledger_trouble = self._repository.ledger.trouble()
        was_known, branch = self._ledger_is_known, self._repository.settings.state_branch
        at = self._repository.ledger.looked_at()
        self._ledger_is_known = bool(at[0]) and not (self.ledger_trouble or self._repository.mirror.unread(branch))
        if before is now and at == self._ledger_at and was_known is self._ledger_is_known:
            return set()
        self._ledger_at = at
        self.policy_log_doubt = self._repository.policy_log.doubt()
        doubted, self._doubts = self._doubts, self._repository.ledger.doubts()
        self._positions = now
        moved = {each for each, position in now.items() if before.get(each) != position}
        moved |= {each for each in doubted.keys() | self._doubts.keys() if doubted.get(each) != self._doubts.get(each)}
        if was_known is not self._ledger_is_known:
            moved |= self.apps() | self.reading.groups.keys()
        return set(filter(self.cares_for, moved))


def _once(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(dict.fromkeys(problems))


def _needs_memory(reading: Reading, record: Record) -> bool:
    return bool(reading.followed.commit) and (not record.epoch or record.unrecalled)


def _is_lost(record: GroupRecord) -> bool:
    return record.unrecalled or not record.state.versions


def _document(document: Document | None, reading: Reading, *, there: bool) -> Document | Missing:
    """Return the content of a file in main, or why it cannot be used; ``there``: whether main has the file."""
    if not reading.followed.commit:
        return Missing.UNSEEN
    if document is not None:
        return document
    return Missing.UNREADABLE if there else Missing.ABSENT

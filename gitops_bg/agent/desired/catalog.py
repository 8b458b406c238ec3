"""What Git says about every app: refreshed by the Git thread, asked by all others.

The Git thread puts a whole `Reading` in the place of the one before. What workers ask beyond it (how main stands to a
record, what an app's history says) is answered for the reading that they hold. Decides nothing, writes nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from gitops_bg.agent.desired.askers import Askers
from gitops_bg.agent.desired.lineage import LASTING_POLLS, Followed, Lineage
from gitops_bg.agent.desired.lookout import LookCounter
from gitops_bg.agent.desired.peers import PeerBoard
from gitops_bg.agent.desired.policing import PolicingFacts
from gitops_bg.agent.desired.provenance import Provenances, passed_of
from gitops_bg.agent.desired.reader import Reader
from gitops_bg.agent.desired.reading import Entry, Reading
from gitops_bg.agent.reconcile.rewrite_reports import RewriteReports
from gitops_bg.core.checks.reverts import asks_for_provenance, asks_what_passed
from gitops_bg.core.model.desired import Desired, Missing, Primary, Target
from gitops_bg.core.model.looks import Looks
from gitops_bg.core.model.main import Knowledge, Main
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.pulls import PullRequest, PullView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.transitions.git.operator_requests import asks_for_retries
from gitops_bg.repo.read.polling import Poll
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.ledger_file import Position
from gitops_bg.spec.app.load import AppConfig

NOWHERE = Position("", 0)
Document = TypeVar("Document", Target, Primary)


@dataclass(frozen=True, slots=True)
class Refresh:
    """What a look at the remote found: apps to look at again, and whether main moved."""

    dirty: frozenset[AppKey]
    moved: bool


class Catalog:
    """The apps of one repository that this agent is to care for; ``namespaces`` empty means all.

    ``remembered`` gives the mains that live records name: a mirror that is new has seen nothing itself.
    """

    def __init__(
        self,
        repository: Repository,
        namespaces: Iterable[str] = (),
        remembered: Callable[[], Iterable[Main]] = tuple,
    ) -> None:
        self._repository = repository
        self._namespaces = frozenset(namespaces)
        self._lineage = Lineage(repository, remembered)
        self._reader = Reader(repository, self.cares_for)
        self._rewrite_reports = RewriteReports()
        self._provenances = Provenances(repository)
        self.board = PeerBoard(self.apps)
        self._policing = PolicingFacts(repository, self.board)
        self._positions: Mapping[AppKey, Position] = {}
        self._askers = Askers(repository)
        self._lookout = LookCounter()
        self._late: set[AppKey] = set()
        self.reading = Reading()
        """The last one; whoever decides takes it once."""
        self.unreachable = ""
        self.main_refused = ""
        self.refusal_of: Callable[[str], str] = lambda _: ""
        """Why the remote does not take a branch, or empty; told by whoever writes (`closed_refs`)."""
        self.pull_view: Callable[[AppKey], PullView | None] = lambda _: None
        """What a forge shows of an app; None where nobody has asked one. Told by the forge's thread."""

    # --- read by everybody ------------------------------------------------------------------------------------

    @property
    def seen(self) -> bool:
        """Whether main was read at least once in this process."""
        return bool(self.commit)

    @property
    def commit(self) -> str:
        """The head of main that is followed; empty before the first answer."""
        return self.reading.followed.commit

    @property
    def rewritten(self) -> str:
        """The commit that main no longer contains, though it was seen; empty while main goes forward."""
        return self.reading.followed.lost

    @property
    def standing(self) -> tuple[bool, str, bool]:
        """What every app is looked at again for, when it changes."""
        return self.reading.followed.standing

    def apps(self) -> frozenset[AppKey]:
        """The apps of main that are ours to care for."""
        return self.reading.apps

    def cares_for(self, app: AppKey) -> bool:
        """Whether an app is in one of our namespaces."""
        return not self._namespaces or app.namespace in self._namespaces

    # --- asked by workers -------------------------------------------------------------------------------------

    def relation(self, reading: Reading, app: AppKey, record: Record) -> Knowledge:
        """How main stands to the one that the record of an app was decided from, and to what agents lost since."""
        followed, reachable = reading.followed, not self.unreachable
        if followed.lost and not self._may_report(followed, app, record):
            return Knowledge.REWRITTEN
        known = self._lineage.relation(followed, app, record.git.main, reachable=reachable)
        if not (known.counts and record.git.lost) or followed.lost:
            return known
        lost = Main(record.git.lost, record.git.main.generation)
        return self._lineage.relation(followed, app, lost, reachable=reachable)

    def record_saved(self, app: AppKey, before: Record, after: Record) -> None:
        """A record was saved: what it says of a lost main since, this process said."""
        if after.git.lost and not before.git.lost:
            self._rewrite_reports.reported(app, self.rewritten, self.reading.followed.polls)

    def _may_report(self, followed: Followed, app: AppKey, record: Record) -> bool:
        return self._rewrite_reports.may_report(app, followed.lost, followed.polls, shown=bool(record.git.lost))

    def looks(self) -> Looks:
        """How often main was looked at, for who dates by that what is no part of Git."""
        return self._lookout.looks(self.reading.look)

    def waits_for_look(self, app: AppKey) -> bool:
        """An app waits for the next look at main; whether that is news."""
        return self._lookout.wait(app)

    def desired(
        self, reading: Reading, app: AppKey, config: AppConfig, record: Record, knowledge: Knowledge
    ) -> Desired:
        """What the core is to be told of an app described by ``config``; one that main lacks is not ``in_git``.

        The ledger is asked only where there is no record (DESIGN §4.7). As long as the remote was not read in this
        process, nothing is known of main, and nothing is concluded from that.
        """
        followed, auxiliary_objects, entry = reading.followed, config.auxiliary_objects, reading.found(app)
        never_described = entry is not None and entry.config.spec is None and not record.routing.traffic
        target, primary = (None, None) if never_described else (config.target, config.primary)
        desired = Desired(
            commit=followed.commit,
            target=_document(target, reading, there=entry is not None and entry.has_target),
            primary=_document(primary, reading, there=entry is not None and entry.has_primary),
            problems=config.problems + reading.settings_problems,
            in_git=entry is not None or not knowledge.counts,
            history_rewritten=followed.lost if self._may_report(followed, app, record) else "",
            memory=self._repository.memory(app) if _needs_memory(reading, record) else None,
            history_lasts=followed.lasts and self._rewrite_reports.stood(app, followed.polls) >= LASTING_POLLS,
            knowledge=knowledge,
            generation=followed.generation,
            tree=entry.tree if entry else "",
            auxiliary_objects=() if never_described else tuple(auxiliary_objects.manifests),
            autoscaler=None if never_described else auxiliary_objects.autoscaler,
            whole=auxiliary_objects.whole,
            ports=config.ports,
            looks=self._lookout.looks(reading.look),
        )
        if entry is None or not followed.commit:
            return desired
        desired = self._with_history(self._with_askers(desired, app, config.spec, record), entry, app, record)
        return self._with_policing(desired, reading, app, config, record)

    def _with_policing(
        self, desired: Desired, reading: Reading, app: AppKey, config: AppConfig, record: Record
    ) -> Desired:
        """What policies say, and the facts that they ask for; nothing where none is for the app."""
        policing = self._policing.of(reading.policies, app, config, desired, record)
        return desired if policing is None else replace(desired, policing=policing)

    def _with_askers(self, desired: Desired, app: AppKey, spec: AppSpec | None, record: Record) -> Desired:
        """Who asked for what app.yaml asks for; only where that is news to the record."""
        if spec and record.operator.suspended is (spec.suspend is None):
            desired = replace(desired, suspended_by=self._askers.of(app, "suspend", desired.commit))
        if spec and spec.retry and spec.retry.number > record.operator.retry:
            desired = replace(desired, retried_by=self._askers.of(app, "retry", desired.commit))
        if spec and spec.retry and asks_for_retries(spec, record):
            passed = self._askers.retries(app, record.operator.retry, spec.retry, desired.commit)
            desired = replace(desired, retries_passed=passed)
        return desired

    def _with_history(self, desired: Desired, entry: Entry, app: AppKey, record: Record) -> Desired:
        """What main's history says beyond the files as they are; only where the core asks for it."""
        if since := asks_what_passed(desired, record):
            desired = replace(desired, passed=passed_of(self._repository, app, since, entry.commit))
        if desired.target and asks_for_provenance(desired, record):
            told = self._provenances.of(app, entry.commit, entry.makers, desired.target.snapshot)
            desired = replace(desired, provenance=told)
        return desired

    def git_view(self, reading: Reading, app: AppKey, remembered: PullRequest | None = None) -> GitView:
        """What Git showed last of an app's promotion branch and ledger, and a forge of its pull request.

        ``remembered`` is what the app's status says of that: it stands as long as nobody in this process knows better.
        """
        position, shown = self._positions.get(app, NOWHERE), self.pull_view(app) or PullView(remembered)
        return GitView(
            promotion=reading.promotions.get(app),
            main_refused=self.main_refused,
            unreachable=self.unreachable,
            offer_refused=self.refusal_of(promotion_branch(app)),
            ledger_refused=self.refusal_of(self._repository.settings.state_branch),
            ledger_epoch=position.epoch,
            ledger_sequence=position.sequence,
            pull=shown.pull,
            pull_queued=shown.queued,
            pull_trouble=shown.trouble,
        )

    # --- refreshed by the Git thread --------------------------------------------------------------------------

    def refresh(self) -> Refresh:
        """Look at the remote and take over what moved. Raises the errors of ``Repository.poll``."""
        awaited, look = self._lineage.awaited(), self._lookout.begin()
        poll = self._repository.poll()
        self._reader.note(poll)
        try:
            self._take_over(poll, awaited, look)
        except Exception:
            if poll.moved:
                self._repository.take_back()  # or the next poll would find nothing new, and this were lost
            raise
        dirty, self._late = frozenset(self._late), set()
        return Refresh(dirty | self._lookout.end(), poll.moved)

    def _take_over(self, poll: Poll, awaited: frozenset[str], look: int) -> None:
        """Read what moved, then put all of it in the place of what was known; `_late` keeps whom that concerns."""
        before = self.reading.followed
        followed = self._lineage.contains(self._lineage.judge(poll, self._reader.generation))
        if poll.moved or not before.commit:
            self._late |= self._reader.read_promotions() | self.read_positions()
        if not followed.lost:
            self._late |= self._reader.read()
            self._rewrite_reports.forget()
        policies = self.reading.policies
        self.reading = replace(self._reader.reading(self.reading), followed=followed, look=look)
        if policies is not self.reading.policies:
            self.board.begin()
        self._late |= self._lineage.follow(followed) | self._lineage.asked(awaited)
        self._late.update(self._rewrite_reports.due(followed.polls, LASTING_POLLS))
        if before.standing != followed.standing:
            self._late |= self.apps()

    def awaiting(self) -> frozenset[AppKey]:
        """The apps that wait for a main that the remote is asked for."""
        return self._lineage.awaiting()

    def read_positions(self) -> set[AppKey]:
        """Take over how far the ledger got; the apps whose position moved."""
        before, now = self._positions, self._repository.positions()
        if before is now:
            return set()
        self._positions = now
        return {app for app, position in now.items() if before.get(app) != position and self.cares_for(app)}


def _needs_memory(reading: Reading, record: Record) -> bool:
    return bool(reading.followed.commit) and (not record.epoch or record.unrecalled)


def _document(document: Document | None, reading: Reading, *, there: bool) -> Document | Missing:
    """What main says in a file, or why it says nothing to go by; ``there``: whether main has the file."""
    if not reading.followed.commit:
        return Missing.UNSEEN
    if document is not None:
        return document
    return Missing.UNREADABLE if there else Missing.ABSENT

"""What Git says about every app, at the last commit that was seen. Refreshed by the Git thread, read by all.

Turns commits into desired states and the promotion branches into plain data; decides nothing, writes nothing.
Values are replaced, never changed, so that readers need no lock.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from gitops_bg.agent.boundaries import quietly, tell
from gitops_bg.agent.lineage import LASTING_POLLS, Lineage
from gitops_bg.agent.lookout import Lookout
from gitops_bg.agent.provenance import Provenances, passed_of
from gitops_bg.agent.sayings import Sayings
from gitops_bg.agent.sharing import Sharing
from gitops_bg.core.desired import Desired, Missing, Primary, Problem, Target
from gitops_bg.core.errors import InternalError, guarded
from gitops_bg.core.knowledge import Knowledge, Main
from gitops_bg.core.model import AppKey, ServicePorts, Source
from gitops_bg.core.observed import GitView, PromotionBranch
from gitops_bg.core.record import Record
from gitops_bg.core.traffic.following import asks_what_passed
from gitops_bg.core.traffic.reverting import asks_for_provenance
from gitops_bg.repo.files import File
from gitops_bg.repo.layout import promotion_branch
from gitops_bg.repo.ledger_file import Position
from gitops_bg.repo.offers import Promotion
from gitops_bg.repo.polling import Poll
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.alerts import Alerting
from gitops_bg.spec.companions import UNKNOWN
from gitops_bg.spec.layout import (
    ALERTS_FOLDER,
    ANALYSIS_FOLDER,
    APP_FILE,
    DEFAULT_TARGET_FILE,
    PRIMARY_FILE,
    SETTINGS_FILE,
    app_file,
    folder_of,
    is_manifest,
)
from gitops_bg.spec.load import AppConfig, load_app
from gitops_bg.spec.models import Settings
from gitops_bg.spec.primary import read_primary
from gitops_bg.spec.settings import default_settings, read_settings
from gitops_bg.spec.yamlio import read_one

NOWHERE = Position("", 0)
_Offered = tuple[str, tuple[ServicePorts, ...]]
"""The digest that a ``primary.yaml`` names, and the ports."""
_NOTHING: _Offered = ("", ())
Said = TypeVar("Said", Target, Primary)
_CONFIGURATION = (b"ConfigMap", b"Secret")


@dataclass(frozen=True, slots=True)
class Entry:
    """One app in main: its files turned into the core's types, and the blob that ``primary.yaml`` is there."""

    config: AppConfig
    primary_blob: str | None
    has_target: bool
    makers: tuple[str, ...] = ()
    """The files that the target's version comes from."""
    commit: str = ""
    """Of main, where it was read so."""


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
        self._lineage = Lineage(repository, remembered)
        self._sayings = Sayings()
        self._unread = Poll("", 0, moved=False)
        self._trees: Mapping[AppKey, str] = {}
        self._namespaces = frozenset(namespaces)
        self._entries: dict[AppKey, Entry] = {}
        self._sharing = Sharing()
        self._provenances = Provenances(repository)
        self._good_settings: bytes | None = None
        self._promotions: Mapping[AppKey, PromotionBranch] = {}
        self._positions: Mapping[AppKey, Position] = {}
        self._parsed_offers: dict[tuple[AppKey, str], _Offered] = {}
        self._askers: dict[AppKey, tuple[str, Source | None]] = {}
        self.lookout = Lookout()
        self._broken: dict[AppKey, InternalError] = {}
        self.settings: Settings = default_settings()
        self.settings_problems: tuple[Problem, ...] = ()
        self.unreachable = ""
        self.main_refused = ""
        self.refusal_of: Callable[[str], str] = lambda _: ""
        """Why the remote does not take a branch, or empty; told by whoever writes (`agent.closed_refs`)."""

    # --- read by workers --------------------------------------------------------------------------------------

    @property
    def seen(self) -> bool:
        """Whether main was read at least once in this process."""
        return bool(self.commit)

    @property
    def commit(self) -> str:
        """The head of main that is followed; empty before the first answer."""
        return self._lineage.commit

    @property
    def rewritten(self) -> str:
        """The commit that main no longer contains, though it was seen; empty while main goes forward."""
        return self._lineage.lost

    def apps(self) -> frozenset[AppKey]:
        """The apps of main that are ours to care for."""
        return frozenset(self._entries)

    def cares_for(self, app: AppKey) -> bool:
        """Whether an app is in one of our namespaces."""
        return not self._namespaces or app.namespace in self._namespaces

    def entry(self, app: AppKey) -> Entry | None:
        """The app as main has it, or None; also where nothing that main says counts."""
        return None if self._lineage.blind else self._entries.get(app)

    def relation(self, app: AppKey, record: Record) -> Knowledge:
        """How main stands to the one that the record of an app was decided from, and to what agents lost since."""
        lineage, reachable = self._lineage, not self.unreachable
        if lineage.lost and not self._may_say(app, record):
            return Knowledge.REWRITTEN
        known = lineage.relation(app, record.main, reachable=reachable)
        if not (known.counts and record.lost) or lineage.lost:
            return known
        return lineage.relation(app, Main(record.lost, record.main.generation), reachable=reachable)

    def said(self, app: AppKey, before: Record, after: Record) -> None:
        """A record was saved: what it says of a lost main since, this process said."""
        if after.lost and not before.lost:
            self._sayings.said(app, self.rewritten, self._lineage.polls)

    def _may_say(self, app: AppKey, record: Record) -> bool:
        return self._sayings.may_say(app, self.rewritten, record.lost, self._lineage.polls)

    def trouble(self, app: AppKey) -> InternalError | None:
        """The bug that keeps the app's files from being read; they are tried again with every poll."""
        return self._broken.get(app)

    @property
    def alerting(self) -> Alerting:
        """What apps share of alerts."""
        return self._sharing.alerting

    def desired(self, app: AppKey, config: AppConfig, record: Record, knowledge: Knowledge) -> Desired:
        """What the core is to be told of an app described by ``config``; one that main lacks is not ``in_git``.

        The ledger is asked only where there is no record (DESIGN §4.7). As long as the remote was not read in this
        process, nothing is known of main, and nothing is concluded from that.
        """
        entry, companions = self._entries.get(app), config.companions
        never_described = entry is not None and entry.config.spec is None and not record.traffic
        desired = Desired(
            commit=self.commit,
            target=self._said(config.target, there=entry is not None and entry.has_target, used=not never_described),
            primary=self._said(config.primary, there=bool(entry and entry.primary_blob), used=not never_described),
            problems=config.problems + self.settings_problems,
            in_git=entry is not None or not knowledge.counts,
            history_rewritten=self.rewritten if self._may_say(app, record) else "",
            memory=self._repository.memory(app) if self.seen and (not record.epoch or record.unrecalled) else None,
            history_lasts=self._lineage.lasts and self._sayings.stood(app, self._lineage.polls) >= LASTING_POLLS,
            knowledge=knowledge,
            generation=self._lineage.generation,
            tree=self._trees.get(app, ""),
            companions=() if never_described else tuple(companions.manifests),
            autoscaler=None if never_described else companions.autoscaler,
            whole=companions.whole,
            asked_by=self._asked_by(app, config, record) if self.seen else None,
            ports=config.ports,
            looks=self.lookout.looks,
        )
        if entry and desired.primary and asks_what_passed(desired, record):
            now = desired.primary.snapshot
            passed = passed_of(self._repository, app, record.primary_by, entry.commit, now)
            desired = replace(desired, passed=passed)
        if entry is None or not desired.target or not asks_for_provenance(desired, record):
            return desired
        now = desired.target.snapshot
        return replace(desired, provenance=self._provenances.of(app, entry.commit, entry.makers, now))

    def _said(self, document: Said | None, *, there: bool, used: bool) -> Said | Missing:
        """What main says in a file, or why it says nothing to go by; ``there``: whether main has the file."""
        if not self.seen:
            return Missing.UNSEEN
        if document is not None and used:
            return document
        return Missing.UNREADABLE if there else Missing.ABSENT

    def _asked_by(self, app: AppKey, config: AppConfig, record: Record) -> Source | None:
        """Who last changed app.yaml; looked up only where it asks for what the record has not heard yet."""
        spec = config.spec
        if spec is None or app not in self._entries:
            return None
        retried = spec.retry is not None and spec.retry.number > record.retry
        if not retried and record.suspended is (spec.suspend is not None):
            return None
        known, source = self._askers.get(app, ("", None))
        if known != self.commit:
            source = self._repository.source(app, APP_FILE, self.commit)
            self._askers[app] = (self.commit, source)
        return source

    def git_view(self, app: AppKey) -> GitView:
        """What Git showed last of an app's promotion branch and ledger."""
        position = self._positions.get(app, NOWHERE)
        return GitView(
            promotion=self._promotions.get(app),
            main_refused=self.main_refused,
            unreachable=self.unreachable,
            offer_refused=self.refusal_of(promotion_branch(app)),
            ledger_refused=self.refusal_of(self._repository.settings.state_branch),
            ledger_epoch=position.epoch,
            ledger_sequence=position.sequence,
        )

    def ledger_position(self, app: AppKey) -> Position:
        """How far the ledger got for an app."""
        return self._positions.get(app, NOWHERE)

    # --- refreshed by the Git thread --------------------------------------------------------------------------

    def refresh(self) -> Refresh:
        """Look at the remote and take over what moved. Raises the errors of ``Repository.poll``."""
        awaited = self._lineage.awaited()
        poll = self._repository.poll()
        try:
            return self._taken_over(poll, awaited)
        except Exception:
            if poll.moved:
                self._repository.take_back()  # or the next poll would find nothing new, and this were lost
            raise

    def _taken_over(self, poll: Poll, awaited: frozenset[str]) -> Refresh:
        stood = self.standing
        follows = self._lineage.judge(poll, self._generation)
        dirty = set(self._lineage.verify() | self._lineage.asked(awaited))
        if not self.rewritten:
            self._sayings.forget()
        dirty.update(self._sayings.due(self._lineage.polls, LASTING_POLLS))
        self._unread = _both(self._unread, poll)
        if poll.moved or not stood[0]:
            dirty |= self._read_promotions() | self.read_positions()
        if follows and (self._unread.moved or self._broken):
            dirty |= self._read()
        if stood != self.standing:
            dirty |= self._entries.keys()
        return Refresh(frozenset(dirty), poll.moved)

    @property
    def standing(self) -> tuple[bool, str, bool]:
        """What every app is looked at again for, when it changes."""
        return self.seen, self._lineage.lost, self._lineage.lasts

    def _read(self) -> set[AppKey]:
        """Take over all of main that changed since it was read last; the apps that are to be looked at."""
        poll = self._unread
        changed = {app for app in poll.changed if self.cares_for(app)}
        removed = {app for app in poll.removed if self.cares_for(app)}
        if poll.settings_changed:
            self._read_settings()
        changed |= (self._read_shared(poll) | self._broken.keys()) - removed
        self._read_apps(changed, removed)
        self._trees = self._repository.apps()
        self._unread = Poll("", 0, moved=False)
        return (changed | removed) | (set(self._entries) if poll.settings_changed else set())

    def _generation(self) -> int:
        """That of main's head, whether it is followed or not; 0 where its settings cannot be read."""
        content = self._repository.settings_file()
        settings = read_settings(content, SETTINGS_FILE)[0] if isinstance(content, bytes) else None
        return settings.history_generation if settings else 0

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

    def _read_settings(self) -> None:
        content = self._repository.settings_file()
        if content is None:
            self.settings, self.settings_problems = default_settings(), ()
        elif isinstance(content, Problem):
            self.settings_problems = (content,)
        else:
            settings, self.settings_problems = read_settings(content, SETTINGS_FILE)
            self.settings = settings or self.settings
        if not self.settings_problems:
            self._good_settings = content if isinstance(content, bytes) else None
        author = self.settings.commit_author
        self._repository.commit_as(author.name, author.email)

    def _read_shared(self, poll: Poll) -> set[AppKey]:
        """Take over what apps share; the apps for which it is different."""
        apps: set[AppKey] = set()
        if ANALYSIS_FOLDER in poll.others_changed:
            apps |= self._sharing.take_templates(self._files_below(ANALYSIS_FOLDER))
        if ALERTS_FOLDER in poll.others_changed or poll.settings_changed:
            apps |= self._sharing.take_alerts(self._files_below(ALERTS_FOLDER), self._good_settings)
        return apps

    def _files_below(self, folder: str) -> dict[str, bytes | Problem]:
        return {path: file.content for path, file in self._repository.files_below(folder).items()}

    def _read_apps(self, changed: set[AppKey], removed: set[AppKey]) -> None:
        for app in removed:
            self._broken.pop(app, None)
            self._enter(app, None)
        if not changed:
            return
        for app, entry in self._read_entries(changed).items():
            self._enter(app, entry)

    def _read_entries(self, apps: set[AppKey]) -> dict[AppKey, Entry]:
        """Those of all apps at once; where that meets a bug, each by itself: it strikes only whose files they are."""
        try:
            with guarded("reading the files of apps"):
                return self._entries_of(apps)
        except InternalError:
            return {app: self._read_alone(app) for app in apps}

    def _read_alone(self, app: AppKey) -> Entry:
        try:
            with guarded(f"reading the files of {app}"):
                entry = self._entries_of({app})[app]
                self._broken.pop(app, None)
                return entry
        except InternalError as error:
            tell(error, app)
            self._broken[app] = error
            return _unreadable(app, error)

    def _entries_of(self, apps: set[AppKey]) -> dict[AppKey, Entry]:
        files = self._repository.files_of(apps)
        targets = [(app, name) for app in apps for name in _making_versions(files[app])]
        primaries = [(app, PRIMARY_FILE) for app in apps if PRIMARY_FILE in files[app]]
        # A target is by whoever made it; a promotion is by whoever let it into main.
        origins = self._repository.origins([*targets, *primaries])
        sources = {file: of[file[1] == PRIMARY_FILE] for file, of in origins.items()}
        entries = {app: self._entry(app, files[app], sources) for app in apps}
        for app in apps:
            self._broken.pop(app, None)
        return entries

    def _enter(self, app: AppKey, entry: Entry | None) -> None:
        """Keep what main says of an app, or that it says nothing, and what it shares with others."""
        before = self._entries.pop(app, None)
        self._sharing.enter(app, before.config if before else None, entry.config if entry else None)
        if entry is not None:
            self._entries[app] = entry

    def _entry(self, app: AppKey, files: Mapping[str, File], sources: Mapping[tuple[AppKey, str], Source]) -> Entry:
        makers: set[str] = set()

        def source(*names: str) -> Source:
            makers.update(names)
            found = (sources.get((app, name)) or self._repository.source(app, name) for name in names)
            return self._newest({each.commit: each for each in found if each})

        primary = files.get(PRIMARY_FILE)
        contents = {name: file.content for name, file in files.items()}
        config = load_app(app, contents, source, self._sharing.library, self._sharing.alerting)
        made = tuple(sorted(makers - {PRIMARY_FILE}))
        has_target = config.target_file in files
        return Entry(config, primary.blob if primary else None, has_target, made, self._repository.head)

    def _newest(self, sources: Mapping[str, Source]) -> Source:
        """The commit that came into main last; of what came in together, the one that has the others. None: nothing."""
        newest = Source("")
        for each in sources.values():
            later = each.landed_after(newest)
            if later is None or each.landed == newest.landed:
                later = not newest.commit or self._repository.is_ancestor(newest.commit, each.commit)
            newest = each if later else newest
        return newest

    def _read_promotions(self) -> set[AppKey]:
        before = self._promotions
        offered = self._repository.promotions()
        found = {app: PromotionBranch("", "") for app in offered if self.cares_for(app)}
        for app in found:
            with quietly(f"reading the promotion branch of {app}", app):
                found[app] = self._branch(app, offered[app])
        self._promotions = found
        touched = before.keys() | self._promotions.keys()
        return {app for app in touched if before.get(app) != self._promotions.get(app)}

    def _branch(self, app: AppKey, offer: Promotion) -> PromotionBranch:
        (digest, services), (base, _) = self._named(app, offer.primary), self._named(app, offer.base_primary)
        return PromotionBranch(digest, base, services)

    def _named(self, app: AppKey, file: File | None) -> _Offered:
        """What a ``primary.yaml`` names; nothing where it is absent or broken."""
        if file is None or not isinstance(file.content, bytes):
            return _NOTHING
        key = (app, file.blob)
        if key not in self._parsed_offers:
            document, _ = read_one(app_file(app, PRIMARY_FILE), file.content)
            primary = read_primary(document, app)[0] if document else None
            self._parsed_offers[key] = (primary.snapshot.digest, primary.services) if primary else _NOTHING
        return self._parsed_offers[key]


def _both(before: Poll, now: Poll) -> Poll:
    """What two polls found, as one; the later one says what is there now."""
    return replace(
        now,
        changed=(before.changed - now.removed) | now.changed,
        removed=(before.removed - now.changed) | now.removed,
        settings_changed=before.settings_changed or now.settings_changed,
        others_changed=before.others_changed | now.others_changed,
        moved=before.moved or now.moved,
    )


def _unreadable(app: AppKey, error: InternalError) -> Entry:
    """What stands for an app whose files meet a bug: what runs goes on, as with files that are broken."""
    problem = Problem(folder_of(app), str(error), remedy="report it, with the traceback in the agent's log")
    config = AppConfig(app, None, {}, None, None, problems=(problem,), whole=False, companions=UNKNOWN)
    return Entry(config, None, has_target=True)


def _making_versions(files: Mapping[str, File]) -> Iterator[str]:
    """The files that versions come from: the target, and what may hold configuration. All are asked for in one walk."""
    for name, file in files.items():
        holds = isinstance(file.content, bytes) and any(word in file.content for word in _CONFIGURATION)
        if name == DEFAULT_TARGET_FILE or (name != PRIMARY_FILE and is_manifest(name) and holds):
            yield name

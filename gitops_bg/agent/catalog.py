"""What Git says about every app, at the last commit that was seen. Refreshed by the Git thread, read by all.

Turns commits into desired states and the promotion branches into plain data; decides nothing, writes nothing.
Values are replaced, never changed, so that readers need no lock.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from gitops_bg.agent.sharing import Sharing
from gitops_bg.core.desired import Desired, Missing, Primary, Problem, Target
from gitops_bg.core.model import AppKey, ServicePorts, Source
from gitops_bg.core.observed import GitView, PromotionBranch
from gitops_bg.core.record import Record
from gitops_bg.repo.files import File
from gitops_bg.repo.layout import promotion_branch
from gitops_bg.repo.ledger_file import Position
from gitops_bg.repo.offers import Promotion
from gitops_bg.repo.polling import Poll
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.alerts import Alerting
from gitops_bg.spec.layout import (
    ALERTS_FOLDER,
    ANALYSIS_FOLDER,
    DEFAULT_TARGET_FILE,
    PRIMARY_FILE,
    SETTINGS_FILE,
    app_file,
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


@dataclass(frozen=True, slots=True)
class Refresh:
    """What a look at the remote found: apps to look at again, and whether main moved."""

    dirty: frozenset[AppKey]
    moved: bool


class Catalog:
    """The apps of one repository that this agent is to care for; ``namespaces`` empty means all.

    ``remembered`` gives commits of main that live records name: a mirror that is new has seen nothing itself.
    """

    def __init__(
        self,
        repository: Repository,
        namespaces: Iterable[str] = (),
        remembered: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self._repository = repository
        self._remembered = remembered
        self._namespaces = frozenset(namespaces)
        self._entries: dict[AppKey, Entry] = {}
        self._sharing = Sharing()
        self._good_settings: bytes | None = None
        self._promotions: Mapping[AppKey, PromotionBranch] = {}
        self._positions: Mapping[AppKey, Position] = {}
        self._parsed_offers: dict[tuple[AppKey, str], _Offered] = {}
        self.commit = ""
        self.settings: Settings = default_settings()
        self.settings_problems: tuple[Problem, ...] = ()
        self.rewritten = ""
        self._lost = ""
        self.unreachable = ""
        self.main_refused = ""
        self.refusal_of: Callable[[str], str] = lambda _: ""
        """Why the remote does not take a branch, or empty; told by whoever writes (`agent.closed_refs`)."""

    # --- read by workers --------------------------------------------------------------------------------------

    @property
    def seen(self) -> bool:
        """Whether main was read at least once in this process."""
        return bool(self.commit)

    def apps(self) -> frozenset[AppKey]:
        """The apps of main that are ours to care for."""
        return frozenset(self._entries)

    def cares_for(self, app: AppKey) -> bool:
        """Whether an app is in one of our namespaces."""
        return not self._namespaces or app.namespace in self._namespaces

    def entry(self, app: AppKey) -> Entry | None:
        """The app as main has it, or None."""
        return self._entries.get(app)

    @property
    def alerting(self) -> Alerting:
        """What apps share of alerts."""
        return self._sharing.alerting

    def desired(self, app: AppKey, config: AppConfig, record: Record) -> Desired:
        """What the core is to be told of an app described by ``config``; one that main lacks is not ``in_git``.

        The ledger is asked only where there is no record (DESIGN §4.7). As long as the remote was not read in this
        process, nothing is known of main, and nothing is concluded from that.
        """
        entry, companions = self._entries.get(app), config.companions
        never_described = entry is not None and entry.config.spec is None and not record.traffic
        return Desired(
            commit=self.commit,
            target=self._said(config.target, there=entry is not None and entry.has_target, used=not never_described),
            primary=self._said(config.primary, there=bool(entry and entry.primary_blob), used=not never_described),
            problems=config.problems + self.settings_problems,
            in_git=entry is not None or not self.seen,
            history_rewritten=self.rewritten,
            memory=self._repository.memory(app) if self.seen and (not record.epoch or record.unrecalled) else None,
            companions=() if never_described else tuple(companions.manifests),
            autoscaler=None if never_described else companions.autoscaler,
            whole=companions.whole,
            ports=config.ports,
        )

    def _said(self, document: Said | None, *, there: bool, used: bool) -> Said | Missing:
        """What main says in a file, or why it says nothing to go by; ``there``: whether main has the file."""
        if not self.seen:
            return Missing.UNSEEN
        if document is not None and used:
            return document
        return Missing.UNREADABLE if there else Missing.ABSENT

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
        poll = self._repository.poll()
        if not poll.moved and self.seen:
            return Refresh(frozenset(), False)
        everything = not self.seen or poll.settings_changed or poll.rewritten != self.rewritten
        changed = {app for app in poll.changed if self.cares_for(app)}
        removed = {app for app in poll.removed if self.cares_for(app)}
        if poll.settings_changed or not self.seen:
            self._read_settings()
        changed |= self._read_shared(poll) - removed
        self._read_apps(changed, removed)
        dirty = changed | removed | self._read_promotions() | self.read_positions()
        self.rewritten = self._accepted(poll.rewritten or self._lost_before_us())
        self.commit = poll.commit
        return Refresh(frozenset(self._entries) | dirty if everything else frozenset(dirty), True)

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
            self._enter(app, None)
        if not changed:
            return
        files = self._repository.files_of(changed)
        targets = [(app, name) for app in changed for name in _making_versions(files[app])]
        primaries = [(app, PRIMARY_FILE) for app in changed if PRIMARY_FILE in files[app]]
        # A target is by whoever made it; a promotion is by whoever let it into main.
        sources = {**self._repository.sources(targets), **self._repository.landings(primaries)}
        for app in changed:
            self._enter(app, self._entry(app, files[app], sources))

    def _enter(self, app: AppKey, entry: Entry | None) -> None:
        """Keep what main says of an app, or that it says nothing, and what it shares with others."""
        before = self._entries.pop(app, None)
        self._sharing.enter(app, before.config if before else None, entry.config if entry else None)
        if entry is not None:
            self._entries[app] = entry

    def _entry(self, app: AppKey, files: Mapping[str, File], sources: Mapping[tuple[AppKey, str], Source]) -> Entry:
        def source(*names: str) -> Source:
            found = (sources.get((app, name)) or self._repository.source(app, name) for name in names)
            return self._newest({each.commit: each for each in found if each})

        primary = files.get(PRIMARY_FILE)
        contents = {name: file.content for name, file in files.items()}
        config = load_app(app, contents, source, self._sharing.library, self._sharing.alerting)
        return Entry(config, primary.blob if primary else None, config.target_file in files)

    def _newest(self, sources: Mapping[str, Source]) -> Source:
        """The commit that has all the others of the same time, or a later time; nothing for none."""
        newest = Source("")
        for each in sources.values():
            same_time = newest.commit and each.date == newest.date
            later = self._repository.is_ancestor(newest.commit, each.commit) if same_time else _is_later(each, newest)
            newest = each if later else newest
        return newest

    def _read_promotions(self) -> set[AppKey]:
        before = self._promotions
        offered = self._repository.promotions()
        self._promotions = {app: self._branch(app, offer) for app, offer in offered.items() if self.cares_for(app)}
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

    def _lost_before_us(self) -> str:
        """A commit that live records come from and main does not have: rewritten while no agent looked."""
        if not self.seen:
            self._lost = min(self._repository.lost(self._remembered()), default="")
        elif self._lost and self._repository.contains(self._lost):
            self._lost = ""
        return self._lost

    def _accepted(self, rewritten: str) -> str:
        """Take rewritten history for good where ``gitops-bg.yaml`` names a commit of it (`accept-history`)."""
        accepted = self.settings.accepted_history
        if not rewritten or not accepted or self._repository.is_ancestor(accepted, rewritten):
            return rewritten
        if not self._repository.contains(accepted):
            return rewritten
        self._repository.accept(accepted)
        self._lost = ""
        return ""


def _is_later(one: Source, other: Source) -> bool:
    return not other.commit or (one.date is not None and other.date is not None and one.date > other.date)


def _making_versions(files: Mapping[str, File]) -> Iterator[str]:
    """The files that versions come from: the target, and what may hold configuration. All are asked for in one walk."""
    for name, file in files.items():
        holds = isinstance(file.content, bytes) and any(word in file.content for word in _CONFIGURATION)
        if name == DEFAULT_TARGET_FILE or (name != PRIMARY_FILE and is_manifest(name) and holds):
            yield name

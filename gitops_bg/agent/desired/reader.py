"""Reads what moved in the remote: apps, what they share, promotion branches. Only the Git thread calls it.

Turns files into the core's types; decides nothing, writes nothing. It hands out copies, and only once everything is
read (`reading`): the next poll reads again what a failure interrupted.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from cachetools import LRUCache

from gitops_bg.agent.desired.document_caches import GroupCache, PolicyCache, SharedDocumentUsers, struck
from gitops_bg.agent.desired.entries import EntryCheck
from gitops_bg.agent.desired.reading import AppEntry, Reading, unreadable
from gitops_bg.agent.runtime.cpu import cpu_limited, outside_cpu_limit
from gitops_bg.agent.runtime.failures import log_bug, quietly
from gitops_bg.core.errors import GitopsBgError, InternalError, TookTooLong, guarded
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.version import AppKey, ServicePorts, Source
from gitops_bg.repo.read.app_index import Hidden
from gitops_bg.repo.read.environment import NO_ENVIRONMENT
from gitops_bg.repo.read.files import File
from gitops_bg.repo.read.polling import Poll
from gitops_bg.repo.read.promotion_branches import FetchedPromotion
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import (
    ALERTS_FOLDER,
    ANALYSIS_FOLDER,
    DEFAULT_TARGET_FILE,
    GROUPS_FOLDER,
    OVERLAY_FILE,
    POLICIES_FOLDER,
    PRIMARY_FILE,
    RELEASE_FILE,
    SETTINGS_FILE,
    is_manifest,
)
from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.app.primary import PrimaryFile, read_primary
from gitops_bg.spec.app.settings import default_settings, read_settings
from gitops_bg.spec.environments.home import Home
from gitops_bg.spec.yaml.reader import read_one

LOGGER = logging.getLogger(__name__)

_Offered = tuple[str, tuple[ServicePorts, ...]]
"""The digest and the ports that a ``primary.yaml`` names."""
_NOTHING: _Offered = ("", ())
_CONFIGURATION = (b"ConfigMap", b"Secret")
_MOST_BEFORE = 20
"""How many former contents of a broken file are tried."""
_OFFERS = 20_000
"""How many files of promotion branches, and of what they began from, are remembered."""
_NO_POLL = Poll("", 0, moved=False)


class MainReader:
    """``cares_for`` says which apps are ours."""

    def __init__(self, repository: Repository, cares_for: Callable[[AppKey], bool]) -> None:
        self._repository = repository
        self._cares_for = cares_for
        self._unread = _NO_POLL
        self._left_out: set[str] = set()
        """The namespaces with apps that are not ours, each logged once."""
        self._entries: dict[AppKey, AppEntry] = {}
        self._broken: dict[AppKey, InternalError] = {}
        self._lacking: set[AppKey] = set()
        """The apps with files that the remote did not hand out: every look asks again."""
        self._lacking_folders: set[str] = set()
        self._hidden = Hidden()
        self._sharing = SharedDocumentUsers()
        self._former: dict[AppKey, AppKey] = {}
        """What apps were called before, by their present names."""
        self._policies = PolicyCache(self._last_valid)
        self._settings = self._unread_settings = default_settings()
        self._settings_problems: tuple[Problem, ...] = ()
        self._good_settings: bytes | None = None
        self._environment = NO_ENVIRONMENT
        self._entered = EntryCheck(repository)
        self._groups = GroupCache(self._files_below, self._folder_before)
        self._promotions: Mapping[AppKey, PromotionBranch] = {}
        self._parsed_offers: LRUCache[tuple[AppKey, str], _Offered] = LRUCache(_OFFERS)

    def reading(self, before: Reading) -> Reading:
        """Return a copy of ``before`` with everything read so far."""
        return replace(
            before,
            entries=dict(self._entries),
            settings=self._settings,
            settings_problems=self._settings_problems,
            environment=self._environment,
            settings_known=not self._settings_problems or self._settings is not self._unread_settings,
            alerting=self._sharing.alerting,
            policies=self._policies.view,
            promotions=self._promotions,
            groups=self._groups.view,
            broken=dict(self._broken),
            moved={former: app.name for app, former in sorted(self._former.items(), reverse=True)},
            hidden=self._hidden,
        )

    def apply(self, poll: Poll) -> None:
        """Note the result of a poll, to be read."""
        self._unread = _both(self._unread, poll)

    def generation(self) -> int:
        """Return the generation of main's head, followed or not; 0 where its settings cannot be read."""
        content = self._repository.settings_file()
        settings = read_settings(content, SETTINGS_FILE)[0] if isinstance(content, bytes) else None
        return settings.history_generation if settings else 0

    # --- main -------------------------------------------------------------------------------------------------

    def read(self) -> set[AppKey]:
        """Read everything in main that changed since the last reading; return the apps to look at."""
        poll = self._unread
        if not (poll.moved or self._broken or self._lacking or self._lacking_folders):
            return set()
        poll = replace(poll, others_changed=poll.others_changed | self._lacking_folders)
        self._lacking_folders = set()
        changed = {app for app in poll.changed if self._cares_for(app)}
        removed = {app for app in poll.removed if self._cares_for(app)}
        self._log_left_out({app.namespace for app in poll.changed - changed})
        if poll.settings_changed:
            self._read_settings()
        before, self._environment = self._environment, self._repository.environment
        self._hidden = poll.hidden
        changed |= (self._read_shared(poll) | self._broken.keys() | self._lacking) - removed
        self._read_apps(changed, removed)
        if {GROUPS_FOLDER, ANALYSIS_FOLDER} & poll.others_changed:
            self._read_groups()
        all_look = self._read_policies(poll) or poll.settings_changed or self._environment != before
        self._unread = _NO_POLL
        touched = changed | removed
        return touched | self._named_before(touched) | (set(self._entries) if all_look else set())

    def _named_before(self, apps: set[AppKey]) -> set[AppKey]:
        """Return the apps that were called so before, as their files say: what they may take over depends on who has
        left.
        """
        return {app for app, former in self._former.items() if former in apps}

    def _log_left_out(self, namespaces: set[str]) -> None:
        """Log namespaces of main that this agent does not manage: perhaps another one does, perhaps somebody forgot."""
        for namespace in sorted(namespaces - self._left_out):
            LOGGER.info(
                "apps/%s is left out: this agent has other namespaces (gitops-bg install --watch-namespace, for each)",
                namespace,
            )
        self._left_out |= namespaces

    def _read_groups(self) -> None:
        """Read the groups of our namespaces."""
        head, folders = self._repository.head, self._repository.groups()
        ours = {group: tree for group, tree in folders.items() if self._cares_for(AppKey(group.namespace, group.name))}
        self._groups.update(ours, self._hidden, head, self._sharing.library)

    def _read_policies(self, poll: Poll) -> bool:
        """Read ``policies/``; return whether the policies in force changed."""
        if POLICIES_FOLDER not in poll.others_changed and not poll.settings_changed:
            return False
        return self._policies.update(self._files_below(POLICIES_FOLDER), self._settings.require or ())

    def _last_valid(self, path: str) -> Iterable[bytes]:
        """Return what a file that is broken now said before; nothing where that cannot be read."""
        try:
            said = self._repository.changes_of_file(path, most=_MOST_BEFORE)
            return [each.content for each in said if each.content is not None]
        except GitopsBgError:
            return ()

    def _folder_before(self, folder: str) -> Iterator[Mapping[str, bytes | Problem]]:
        """Return what a folder with a mistake said before, newest first."""
        return (self._files_below(folder, commit) for commit in self._repository.changes_below(folder))

    def _read_settings(self) -> None:
        content = self._repository.settings_file()
        if content is None:
            self._settings, self._settings_problems = default_settings(), ()
        elif isinstance(content, Problem):
            self._settings_problems = (content,)
        else:
            settings, self._settings_problems = read_settings(content, SETTINGS_FILE)
            self._settings = settings or self._settings
        if not self._settings_problems:
            self._good_settings = content if isinstance(content, bytes) else None

    def _read_shared(self, poll: Poll) -> set[AppKey]:
        """Read what apps share; return the apps for which it changed."""
        apps: set[AppKey] = set()
        if ANALYSIS_FOLDER in poll.others_changed:
            apps |= self._sharing.update_templates(self._files_below(ANALYSIS_FOLDER))
        if ALERTS_FOLDER in poll.others_changed or poll.settings_changed:
            apps |= self._sharing.update_alerts(self._files_below(ALERTS_FOLDER), self._good_settings)
        return apps

    def _files_below(self, folder: str, commit: str = "") -> dict[str, bytes | Problem]:
        files = self._repository.files_below(folder, commit)
        if not commit and any(file.lacking for file in files.values()):
            self._lacking_folders.add(folder)
        return {path: file.content for path, file in files.items()}

    def _read_apps(self, changed: set[AppKey], removed: set[AppKey]) -> None:
        self._lacking -= removed
        for app in removed:
            self._broken.pop(app, None)
            self._enter(app, None)
        hidden = {app: problem for app in changed if (problem := self._hidden.apps.get(app))}
        for app, problem in hidden.items():
            folder = self._repository.places.folder(app)
            has_it = self._hidden.above(folder) is not None  # Else two folders say that they are the app.
            self._enter(app, unreadable(app, problem, folder if has_it else ""))
        if changed - hidden.keys():
            for app, entry in self._read_entries(changed - hidden.keys()).items():
                self._enter(app, entry)

    def _read_entries(self, apps: set[AppKey]) -> dict[AppKey, AppEntry]:
        """Read the entries of all apps at once; if that hits a bug, one by one, so that it affects only one app."""
        try:
            with guarded("reading the files of apps"):
                return self._entries_of(apps)
        except InternalError:
            return {app: self._read_alone(app) for app in apps}

    def _read_alone(self, app: AppKey) -> AppEntry:
        try:
            with guarded(f"reading the files of {app}"):
                entry = self._entries_of({app})[app]
                self._broken.pop(app, None)
                return entry
        except InternalError as error:
            log_bug(error, app)
            self._broken[app] = error
            folder = self._repository.places.folder(app)
            return unreadable(app, struck(folder, error), folder)

    def _entries_of(self, apps: set[AppKey]) -> dict[AppKey, AppEntry]:
        files = self._repository.files_of(apps)
        lacking = {app for app in apps if any(file.lacking for file in files[app].values())}
        self._lacking = (self._lacking - apps) | lacking
        targets = [(app, name) for app in apps for name in _making_versions(files[app])]
        primaries = [(app, PRIMARY_FILE) for app in apps if PRIMARY_FILE in files[app]]
        # The author of a target made it; the author of a promotion is who brought it into main.
        origins = self._repository.origins([*targets, *primaries])
        sources = {file: of[file[1] == PRIMARY_FILE] for file, of in origins.items()}
        trees, homes = self._repository.apps(), self._repository.homes(apps)
        entries = {
            app: self._within_limit(
                app, partial(self._entry, app, files[app], sources, trees.get(app, ""), homes.get(app))
            )
            for app in apps
        }
        for app in apps:
            self._broken.pop(app, None)
        return entries

    def _enter(self, app: AppKey, entry: AppEntry | None) -> None:
        """Keep what main says of an app, or that it says nothing, and what the app shares with others."""
        before = self._entries.pop(app, None)
        self._keep_former_name(app, entry)
        self._sharing.enter(app, before.config if before else None, entry.config if entry else None)
        if entry is not None:
            self._entries[app] = entry

    def _keep_former_name(self, app: AppKey, entry: AppEntry | None) -> None:
        """Note what an app was called before. A file that cannot be read takes nothing back: the app of that name would
        be deleted by its policy, while it serves.
        """
        spec = entry.config.spec if entry is not None else None
        if spec is not None and spec.adopt is not None and spec.adopt.app:
            self._former[app] = AppKey(app.namespace, spec.adopt.app)
        elif entry is None or spec is not None:
            self._former.pop(app, None)

    def _within_limit(self, app: AppKey, read: Callable[[], AppEntry]) -> AppEntry:
        """Return what an app's files say; or that they cost too much, until they change."""
        try:
            return read()
        except TookTooLong as error:
            log_bug(error, app)
            folder = self._repository.places.folder(app)
            return unreadable(app, struck(folder, error), folder)

    def _entry(
        self,
        app: AppKey,
        files: Mapping[str, File],
        sources: Mapping[tuple[AppKey, str], Source],
        tree: str,
        home: Home | None,
    ) -> AppEntry:
        makers: set[str] = set()

        def source(*names: str) -> Source:
            makers.update(names)
            return outside_cpu_limit(lambda: newest_of(names))

        def newest_of(names: Iterable[str]) -> Source:
            found = [sources.get((app, name)) or self._repository.source(app, name) for name in names]
            return self._newest({each.commit: each for each in found if each})

        contents = {name: file.content for name, file in files.items()}
        folder = self._repository.places.folder(app)
        library, alerting = self._sharing.library, self._sharing.alerting
        config = cpu_limited(
            f"reading {folder}", lambda: load_app(app, contents, source, library, alerting, folder, home)
        )
        config = self._entered.checked(config, files, home)
        made = tuple(sorted(makers - {PRIMARY_FILE}))
        return AppEntry(config, config.has_primary, config.has_target, made, self._repository.head, tree)

    def _newest(self, sources: Mapping[str, Source]) -> Source:
        """Return the commit that came into main last; of commits that came in together, the one that contains the
        others.

        Empty: none.
        """
        newest = Source("")
        for each in sources.values():
            later = each.landed_after(newest)
            if later is None or each.landed == newest.landed:
                later = not newest.commit or self._repository.mirror.is_ancestor(newest.commit, each.commit)
            newest = each if later else newest
        return newest

    # --- promotion branches -----------------------------------------------------------------------------------

    def read_promotions(self) -> set[AppKey]:
        """Read the promotion branches; return the apps for which they changed."""
        before = self._promotions
        offered = self._repository.offers.promotions()
        cared_for = {app: offer for app, offer in offered.items() if self._cares_for(app)}
        found = {app: PromotionBranch("", "", commit=offer.commit) for app, offer in cared_for.items()}
        for app in found:
            with quietly(f"reading the promotion branch of {app}", app):
                found[app] = self._branch(app, offered[app])
        self._promotions = found
        touched = before.keys() | self._promotions.keys()
        return {app for app in touched if before.get(app) != self._promotions.get(app)}

    def _branch(self, app: AppKey, offer: FetchedPromotion) -> PromotionBranch:
        (digest, services), (base, _) = self._named(app, offer.primary), self._named(app, offer.base_primary)
        here = offer.cluster == self._repository.settings.cluster if offer.cluster else None
        said = (offer.asks_for, offer.commit, offer.own_commits, here, offer.asked_by, offer.reason)
        return PromotionBranch(digest, base, services, *said)

    def _named(self, app: AppKey, file: File | None) -> _Offered:
        """Return what a ``primary.yaml`` names; nothing where the file is absent or broken."""
        if file is None or not isinstance(file.content, bytes):
            return _NOTHING
        content, known = file.content, self._parsed_offers.get((app, file.blob))
        if known is None:
            primary = cpu_limited(f"reading {PRIMARY_FILE} of {app}", lambda: _primary_in(content, app))
            known = (primary.snapshot.digest, primary.services) if primary else _NOTHING
            self._parsed_offers[app, file.blob] = known
        return known


def _primary_in(content: bytes, app: AppKey) -> PrimaryFile | None:
    document, _ = read_one(PRIMARY_FILE, content)
    return read_primary(document, app)[0] if document else None


def _both(before: Poll, now: Poll) -> Poll:
    """Combine the results of two polls; the later one says what exists now."""
    return replace(
        now,
        changed=(before.changed - now.removed) | now.changed,
        removed=(before.removed - now.changed) | now.removed,
        settings_changed=before.settings_changed or now.settings_changed,
        others_changed=before.others_changed | now.others_changed,
        moved=before.moved or now.moved,
    )


def _making_versions(files: Mapping[str, File]) -> Iterator[str]:
    """Yield the files that versions come from: the target, and files that may hold configuration. One walk asks for
    all.
    """
    for name, file in files.items():
        holds = isinstance(file.content, bytes) and any(word in file.content for word in _CONFIGURATION)
        is_base = name in (DEFAULT_TARGET_FILE, OVERLAY_FILE, RELEASE_FILE)
        if is_base or (name != PRIMARY_FILE and is_manifest(name) and holds):
            yield name

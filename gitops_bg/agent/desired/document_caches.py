"""What main says beside its apps, parsed once: documents that apps share (AnalysisTemplates, AlertProviders, default
alerts), policies, and release groups.

The Git thread takes over what changed; each view is a value that is replaced, never changed. Of a file with a mistake,
or one that cannot be seen, what it said last holds: unknown is not absent. Judges nothing.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from itertools import takewhile
from time import thread_time
from typing import TypeVar

from gitops_bg.agent.runtime.cpu import LONGEST, cpu_limited
from gitops_bg.agent.runtime.failures import log_bug
from gitops_bg.core.checks.policy_judge import matches, matching, scopes_asked_about
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, TookTooLong, guarded
from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_rules import After, Cel, Policy
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.written import Labels
from gitops_bg.repo.read.app_index import Hidden
from gitops_bg.spec.analysis.templates import Library, load_templates
from gitops_bg.spec.app.layout import (
    ALERTS_FOLDER,
    ANALYSIS_FOLDER,
    GROUP_FILE,
    PEOPLE_FILE,
    POLICIES_FOLDER,
    SETTINGS_FILE,
    group_folder,
)
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.app.settings import alerting_of
from gitops_bg.spec.groups.load import File, GroupConfig, load_group
from gitops_bg.spec.notifications import Alerting, load_providers
from gitops_bg.spec.policies.load import (
    PeopleFile,
    PolicyFile,
    is_policy_file,
    load_people,
    load_policy_file,
)
from gitops_bg.spec.policies.people import Directory

Files = Mapping[str, bytes | Problem]

Loaded = TypeVar("Loaded")
_FOR_A_FILE = 2.0
"""Seconds of CPU for one of several files that take too long together."""

Use = tuple[str, str]
"""A folder, and a name in it."""


class SharedDocumentUsers:
    """Which app uses which document.

    Values are replaced, never changed, so that readers need no lock; ``enter`` and ``take_…`` are for one thread.
    """

    def __init__(self) -> None:
        self.library = Library()
        self.alerting = Alerting()
        self._users: dict[Use, set[AppKey]] = {}
        self._apps: set[AppKey] = set()

    def update_templates(self, files: Files) -> set[AppKey]:
        """Read the files of ``analysis/``; return the apps that use a changed template."""
        before, self.library = self.library, _affordable(ANALYSIS_FOLDER, load_templates, files)
        return self._users_of(ANALYSIS_FOLDER, before.changed(self.library))

    def update_alerts(self, files: Files, settings: bytes | None) -> set[AppKey]:
        """Read the files of ``alerts/`` and gitops-bg.yaml; return the apps whose alerts changed."""
        providers = _affordable(ALERTS_FOLDER, load_providers, files)
        before, self.alerting = self.alerting, alerting_of(settings, providers)
        if before.defaults != self.alerting.defaults:
            return set(self._apps)
        return self._users_of(ALERTS_FOLDER, before.providers.changed(self.alerting.providers))

    def enter(self, app: AppKey, before: AppConfig | None, after: AppConfig | None) -> None:
        """Note what an app uses now; None where main does not have it."""
        for use in _uses(before):
            self._users[use].discard(app)
        for use in _uses(after):
            self._users.setdefault(use, set()).add(app)
        if after is None:
            self._apps.discard(app)
        else:
            self._apps.add(app)

    def _users_of(self, folder: str, names: frozenset[str]) -> set[AppKey]:
        return {app for name in names for app in self._users.get((folder, name), ())}


def _affordable(folder: str, load: Callable[[Files], Loaded], files: Files) -> Loaded:
    """Load all files; where that takes too long, without those that cost the most."""
    try:
        return cpu_limited(f"reading {folder}", lambda: load(files))
    except TookTooLong as error:
        log_bug(error)
        return load(dict(_cheap_ones(load, files)))


def _cheap_ones(load: Callable[[Files], object], files: Files) -> Iterator[tuple[str, bytes | Problem]]:
    """Yield the files with their contents, or what is wrong with those that cost too much, by themselves or after
    others.
    """
    left = LONGEST
    for path, content in files.items():
        began = thread_time()
        yield path, _if_cheap(path, content, load, min(_FOR_A_FILE, left))
        left -= thread_time() - began


def _if_cheap(path: str, content: bytes | Problem, load: Callable[[Files], object], seconds: float) -> bytes | Problem:
    if seconds <= 0:
        others = TookTooLong(f"the files before {path} take all the time that there is for reading them")
        return struck(path, others)
    try:
        cpu_limited(f"reading {path}", partial(load, {path: content}), seconds)
    except TookTooLong as error:
        return struck(path, error)
    return content


def _uses(config: AppConfig | None) -> Iterator[Use]:
    if config is not None:
        yield from ((ANALYSIS_FOLDER, name) for name in config.templates)
        yield from ((ALERTS_FOLDER, name) for name in config.providers)


EarlierPolicies = Callable[[str], Iterable[bytes]]
"""The former contents of a file in main, newest first; empty where they cannot be read."""


@dataclass(frozen=True, slots=True)
class FileTrouble:
    """What is wrong with a file, and which apps it affects: those that its policies match; None: all."""

    said: str
    policies: tuple[Policy, ...] | None = None


@dataclass(frozen=True, slots=True)
class PolicyView:
    """What is in force now."""

    policies: tuple[Policy, ...] = ()
    troubles: tuple[FileTrouble, ...] = ()
    people: Directory = field(default_factory=Directory)
    """The people, for the rules on people."""
    asks_about_others: bool = field(default=False, compare=False)
    """Whether a rule asks about apps other than the one it is for."""

    def of(self, app: AppKey, labels: Labels, environment: str = "") -> tuple[Policy, ...]:
        """Return the policies that are for an app, in an environment where the repository has some."""
        return matching(self.policies, app, labels, environment) if self.policies else ()

    def troubles_of(self, app: AppKey, labels: Labels, environment: str = "") -> tuple[str, ...]:
        """Return the errors in files that are, or may be, for an app."""
        return tuple(each.said for each in self.troubles if _concerns(each, app, labels, environment))


def _concerns(trouble: FileTrouble, app: AppKey, labels: Labels, environment: str) -> bool:
    return trouble.policies is None or any(matches(each.match, app, labels, environment) for each in trouble.policies)


class PolicyCache:
    """Keeps the last valid state of each file: as this process saw it, otherwise from main's history."""

    def __init__(self, earlier: EarlierPolicies) -> None:
        self._earlier = earlier
        self._good: dict[str, PolicyFile] = {}
        self._people = PeopleFile()
        self.view = PolicyView()

    def update(self, files: Mapping[str, File], required: Iterable[str]) -> bool:
        """Take over the folder, and the requirements of gitops-bg.yaml; return whether the policies in
        force changed.
        """
        files = self._with_unknown(files)
        people, written = self._people_of(files.get(PEOPLE_FILE)), _load_people(files.get(PEOPLE_FILE))
        paths = sorted(path for path in files if is_policy_file(path))
        found = {path: _load(path, files[path], people) for path in paths}
        self._good = {path: file for path, file in self._remembered(found, people) if not file.problems}
        view = self._view(found, written, frozenset(required))
        before, self.view = self.view, replace(view, people=_directory(people))
        return before != self.view

    def _with_unknown(self, files: Mapping[str, File]) -> Mapping[str, File]:
        """Return the files, unknown where something else is in place of the folder: that is not absent."""
        problem = files.get(POLICIES_FOLDER)
        return files if problem is None else {**dict.fromkeys((*self._good, PEOPLE_FILE), problem), **files}

    def _people_of(self, content: File | None) -> PeopleFile:
        """Return the people, or their last valid state; with problems if there is none: they are unknown then, which
        is not nobody.
        """
        people = _load_people(content)
        if people.problems:
            if self._people.people:
                return self._people
            said = (_load_people(each) for each in self._earlier(PEOPLE_FILE))
            return next((each for each in said if not each.problems), people)
        self._people = people
        return people

    def _remembered(self, found: Mapping[str, PolicyFile], people: PeopleFile) -> Iterator[tuple[str, PolicyFile]]:
        for path, file in found.items():
            if not file.problems:
                yield path, file
            elif path in self._good:
                yield path, self._good[path]
            else:
                said = (_load(path, content, people) for content in self._earlier(path))
                yield path, next((each for each in said if not each.problems), file)

    def _view(self, found: Mapping[str, PolicyFile], people: PeopleFile, required: frozenset[str]) -> PolicyView:
        policies: list[Policy] = []
        troubles = [FileTrouble(str(problem)) for problem in people.problems]
        for path, file in found.items():
            if not file.problems:
                policies += (each.policy for each in file.policies)
                continue
            kept = _kept(file, self._good.get(path), required)
            policies += kept
            troubles += (FileTrouble(str(problem), kept) for problem in file.problems)
        policies += _missing(policies, required)
        return PolicyView(tuple(policies), tuple(troubles), asks_about_others=asks_about_others(policies))


def _load(path: str, content: File, people: PeopleFile) -> PolicyFile:
    """Load one file. A bug on it is a problem of this file: its last content stays in force, and all others
    are read.
    """
    try:
        with guarded(f"reading {path}"):
            return cpu_limited(f"reading {path}", lambda: load_policy_file(path, content, people))
    except InternalError as error:
        log_bug(error)
        return PolicyFile(path, problems=(_bug_in(path, error),))


def _load_people(content: File | None) -> PeopleFile:
    try:
        with guarded(f"reading {PEOPLE_FILE}"):
            return cpu_limited(f"reading {PEOPLE_FILE}", lambda: load_people(content))
    except InternalError as error:
        log_bug(error)
        return PeopleFile(problems=(_bug_in(PEOPLE_FILE, error),))


def _directory(people: PeopleFile) -> Directory:
    return Directory(people.people, str(people.problems[0]) if people.problems else "")


def _bug_in(path: str, error: InternalError) -> Problem:
    return Problem(path, str(error), remedy="report it, with the traceback in the agent's log")


def _kept(file: PolicyFile, good: PolicyFile | None, required: frozenset[str]) -> tuple[Policy, ...]:
    """Return the last valid content of a broken file; shut if that is unknown, or if the file is required."""
    why = f"{file.path} cannot be read: {file.problems[0]}"
    if good is None:
        return tuple(Policy(name, broken=why) for name in file.names or (file.path,))
    policies = (each.policy for each in good.policies)
    return tuple(replace(each, rules=(), broken=why) if each.name in required else each for each in policies)


def _missing(policies: Iterable[Policy], required: frozenset[str]) -> list[Policy]:
    missing = sorted(required - {policy.name for policy in policies})
    return [Policy(name, broken=f"{SETTINGS_FILE} requires it, and policies/ does not have it") for name in missing]


def asks_about_others(policies: Iterable[Policy]) -> bool:
    """Return whether a rule of these policies asks about other apps."""
    policies = tuple(policies)
    named = any(isinstance(rule, After | Cel) for policy in policies for rule in policy.rules)
    return named or bool(scopes_asked_about(policies))


Read = Callable[[str], Mapping[str, File]]
"""All files below a folder of main, by path."""
EarlierGroups = Callable[[str], Iterable[Mapping[str, File]]]
"""What a folder of main said before, newest first, nothing where it was not there. May raise the errors of
``core.errors``.
"""


LOGGER = logging.getLogger(__name__)

_READ_AGAIN = ""
"""Instead of the object id of a folder that is to be read again with the next change of any group."""


@dataclass(frozen=True, slots=True)
class _Cached:
    """A group, the object id of its folder at that time, and what hid a part of it."""

    tree: str
    hidden: Problem | None
    config: GroupConfig


class GroupCache:
    """``read`` reads main, ``earlier`` its history: this process may not have seen the last valid state."""

    def __init__(self, read: Read, earlier: EarlierGroups) -> None:
        self._read = read
        self._earlier = earlier
        self._known: dict[GroupKey, _Cached] = {}
        self._valid: dict[GroupKey, GroupConfig] = {}
        """The last valid state of each group."""
        self._searched: set[GroupKey] = set()
        """The groups whose history was read to its end: what came later, this process has seen itself."""
        self._library = Library()
        self.view: Mapping[GroupKey, GroupConfig] = {}

    def update(self, folders: Mapping[GroupKey, str], hidden: Hidden, commit: str, library: Library) -> None:
        """Take over the groups of a commit, with the object ids of their folders, and the AnalysisTemplates there."""
        changed, self._library = self._library.changed(library), library
        self._known = {group: each for group, each in self._known.items() if not each.config.templates & changed}
        self._known = {group: self._cached(group, tree, hidden, commit) for group, tree in folders.items()}
        self._valid = {group: each for group, each in self._valid.items() if group in folders}
        self._searched &= folders.keys()
        self.view = {group: replace(each.config, tree=folders[group]) for group, each in self._known.items()}

    def _cached(self, group: GroupKey, tree: str, hidden: Hidden, commit: str) -> _Cached:
        known, hides = self._known.get(group), hidden.above(f"{group_folder(group)}/{GROUP_FILE}")
        if known is not None and (known.tree, known.hidden) == (tree, hides):
            return known
        if hides is not None:
            return self._kept(group, tree, hides, self._or_last_valid(group, _unusable(hides, commit)))
        try:
            with guarded(f"reading the group {group}"):
                return self._kept(group, tree, None, self._loaded(group, commit))
        except InternalError as error:
            log_bug(error)
            unusable = _unusable(struck(group_folder(group), error), commit)
            read = tree if isinstance(error, TookTooLong) else _READ_AGAIN
            return _Cached(read, None, self._or_last_valid(group, unusable))

    def _kept(self, group: GroupKey, tree: str, hidden: Problem | None, config: GroupConfig) -> _Cached:
        """Keep a group; one of which nobody knows yet what it was is read again."""
        is_known = config.desired.spec is not None or group in self._searched
        return _Cached(tree if is_known else _READ_AGAIN, hidden, config)

    def _loaded(self, group: GroupKey, commit: str) -> GroupConfig:
        found = group_in(group, self._read(group_folder(group)), commit, self._library)
        if found.desired.spec is None:
            return self._or_last_valid(group, found)
        self._valid[group] = found
        return found

    def _or_last_valid(self, group: GroupKey, broken: GroupConfig) -> GroupConfig:
        """Return the last valid state, with what is wrong now; as it is where there was none."""
        valid = self._valid.get(group) or self._valid_before(group, broken.desired.commit)
        if valid is None:
            return broken
        self._valid[group] = valid
        problems = (*broken.desired.problems, *valid.desired.problems)
        desired = replace(valid.desired, problems=problems, commit=broken.desired.commit, is_last_valid=True)
        return replace(valid, desired=desired)

    def _valid_before(self, group: GroupKey, commit: str) -> GroupConfig | None:
        """Return the last valid state in main's history, since the folder is there; None where there is none, or where
        nobody can read it now.
        """
        if group in self._searched:
            return None
        try:
            with guarded(f"reading what the group {group} was"):
                former = takewhile(bool, self._earlier(group_folder(group)))
                found = (group_in(group, files, commit, self._library) for files in former)
                valid = next((each for each in found if each.desired.spec is not None), None)
        except GitopsBgError as error:
            log_bug(error)
            LOGGER.warning("%s: nobody knows what its folder said before: %s", group, error)
            return None
        self._searched.add(group)
        return valid


def group_in(group: GroupKey, files: Mapping[str, File], commit: str, library: Library) -> GroupConfig:
    """Return what the files of a group's folder say, by path. Raises `TookTooLong`."""
    folder = group_folder(group)
    below = {path.removeprefix(f"{folder}/"): content for path, content in files.items()}
    return cpu_limited(f"reading {folder}", lambda: load_group(group, below, commit, library))


def _unusable(problem: Problem, commit: str) -> GroupConfig:
    return GroupConfig(DesiredGroup(None, problems=(problem,), commit=commit))


def struck(path: str, error: InternalError) -> Problem:
    """Return the problem of a file or folder whose reading was ended because it took too long, or hit a bug."""
    smaller = "make it smaller: it is read again when it changes" if isinstance(error, TookTooLong) else ""
    return Problem(path, str(error), remedy=smaller or "report it, with the traceback in the agent's log")

"""The policies of main in force: valid files as they are, broken ones with their last valid content, required ones or
shut.

One thread takes the folder over; the view is a value that is replaced, never changed. Judges nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.agent.runtime.cpu_limit import cpu_limited
from gitops_bg.core.checks.policy_judge import matches, matching, scopes_asked_about
from gitops_bg.core.errors import InternalError, guarded
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_rules import After, Expression, Policy
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import PEOPLE_FILE, POLICIES_FOLDER, SETTINGS_FILE
from gitops_bg.spec.policies.load import (
    File,
    PeopleFile,
    PolicyFile,
    is_policy_file,
    load_people,
    load_policy_file,
)
from gitops_bg.spec.policies.people import Directory

Earlier = Callable[[str], Iterable[bytes]]
"""The former contents of a file in main, newest first; empty where they cannot be read."""

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with a file, and which apps it affects: those that its policies match; None: all."""

    said: str
    policies: tuple[Policy, ...] | None = None


@dataclass(frozen=True, slots=True)
class PolicyView:
    """What is in force now."""

    policies: tuple[Policy, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    people: Directory = field(default_factory=Directory)
    """The people, for the rules on people."""
    asks_about_others: bool = field(default=False, compare=False)
    """Whether a rule asks about apps other than the one it is for."""

    def of(self, app: AppKey, labels: Labels) -> tuple[Policy, ...]:
        """Return the policies that are for an app."""
        return matching(self.policies, app, labels) if self.policies else ()

    def troubles_of(self, app: AppKey, labels: Labels) -> tuple[str, ...]:
        """Return the errors in files that are, or may be, for an app."""
        return tuple(each.said for each in self.troubles if _concerns(each, app, labels))


def _concerns(trouble: Trouble, app: AppKey, labels: Labels) -> bool:
    return trouble.policies is None or any(matches(each.match, app, labels) for each in trouble.policies)


class PolicyCache:
    """Keeps the last valid state of each file: as this process saw it, otherwise from main's history."""

    def __init__(self, earlier: Earlier) -> None:
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
        """Where something else is in place of the folder, its files are unknown, which is not absent."""
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
        troubles = [Trouble(str(problem)) for problem in people.problems]
        for path, file in found.items():
            if not file.problems:
                policies += (each.policy for each in file.policies)
                continue
            kept = _kept(file, self._good.get(path), required)
            policies += kept
            troubles += (Trouble(str(problem), kept) for problem in file.problems)
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
    named = any(isinstance(rule, After | Expression) for policy in policies for rule in policy.rules)
    return named or bool(scopes_asked_about(policies))

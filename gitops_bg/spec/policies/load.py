"""The files of ``policies/``: read each as a whole, valid or not, checked together, and converted to the core's types.
Fetches nothing, and keeps no last valid state.

Only files directly in the folder count: files in its subfolders have no effect until somebody copies them. The
conversion loads zones and compiles expressions.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from fnmatch import fnmatchcase

from gitops_bg.core.checks.policy_judge import matches
from gitops_bg.core.checks.policy_rules import next_open
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import NO_ENVIRONMENTS, Environments
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_rules import (
    After,
    BreakGlass,
    Cel,
    DateSpan,
    Images,
    Match,
    Mode,
    Policy,
    Proof,
    Windows,
)
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.written import Labels
from gitops_bg.spec.app.layout import (
    ENVIRONMENTS_FILE,
    PEOPLE_FILE,
    POLICIES_FOLDER,
    POLICY_TEST_SUFFIX,
    SIGNERS_FILE,
    is_manifest,
)
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.app.settings import Settings
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.policies.models import OverrideEntry, People, PersonEntry, PolicySpec, PromotionPolicy
from gitops_bg.spec.yaml.reader import Document, first_of_each, read, read_one
from gitops_bg.spec.yaml.scalars import nearest

TEAM = "team:"

File = bytes | Problem


@dataclass(frozen=True, slots=True)
class WrittenPolicy:
    """A valid policy, and where it is written."""

    policy: Policy
    document: Document
    model: PromotionPolicy


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """One file. With ``problems``, none of its policies is used: bad input is never partly applied."""

    path: str
    policies: tuple[WrittenPolicy, ...] = ()
    problems: tuple[Problem, ...] = ()
    names: tuple[str, ...] = ()
    """The names of its policies, as far as they can be read, even if the file is not valid."""


@dataclass(frozen=True, slots=True)
class PeopleFile:
    """The people; none if there is no such file."""

    people: tuple[PersonEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    document: Document | None = None

    @property
    def groups(self) -> frozenset[str]:
        """Every group that has a member."""
        return frozenset(group for person in self.people for group in person.groups or ())


@dataclass(frozen=True, slots=True)
class PolicyFolder:
    """The whole folder, at one commit."""

    files: Mapping[str, PolicyFile] = field(default_factory=dict)
    people: PeopleFile = PeopleFile()

    @property
    def written(self) -> tuple[WrittenPolicy, ...]:
        """The policies of valid files."""
        return tuple(each for file in self.files.values() for each in file.policies)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of all single files."""
        return (*self.people.problems, *(problem for file in self.files.values() for problem in file.problems))


def is_policy_file(path: str) -> bool:
    """Return whether a file has policies that count; what is in place of the folder may have all of them.

    >>> is_policy_file("policies/calm.yaml"), is_policy_file("policies/library/calm.yaml")
    (True, False)
    >>> is_policy_file("policies/calm.test.yaml"), is_policy_file("policies/people.yaml")
    (False, False)
    """
    folder, _, name = path.rpartition("/")
    counts = path == POLICIES_FOLDER or (folder == POLICIES_FOLDER and is_manifest(name))
    return counts and path != PEOPLE_FILE and not name.endswith(POLICY_TEST_SUFFIX)


def load_policies(files: Mapping[str, File]) -> PolicyFolder:
    """Load the folder from its files by path. A Problem stands for a file that Git found unusable."""
    people = load_people(files.get(PEOPLE_FILE))
    found = {path: load_policy_file(path, files[path], people) for path in sorted(files) if is_policy_file(path)}
    return PolicyFolder(found, people)


def load_people(content: File | None) -> PeopleFile:
    """Load ``policies/people.yaml``; None: there is none."""
    if content is None:
        return PeopleFile()
    if isinstance(content, Problem):
        return PeopleFile(problems=(content,))
    document, problems = read_one(PEOPLE_FILE, content)
    model, wrong = validate(People, document) if document else (None, ())
    return PeopleFile(tuple(model.people) if model else (), (*problems, *wrong), document)


def load_policy_file(path: str, content: File, people: PeopleFile) -> PolicyFile:
    """Load one file of policies, with all its problems."""
    if isinstance(content, Problem):
        return PolicyFile(path, problems=(content,))
    reading = read(path, content)
    problems, written = [*reading.problems], []
    for document in reading.documents:
        model, wrong = validate(PromotionPolicy, document)
        problems.extend(wrong)
        if model is not None:
            problems.extend(_check_people(model, document, people))
            policy = policy_of(model.metadata.name, model.spec, people.people)
            written.append(WrittenPolicy(policy, document, model))
    names = tuple(name for document in reading.documents if (name := _name_of(document)))
    return PolicyFile(path, () if problems else tuple(written), tuple(first_of_each(problems)), names)


def _name_of(document: Document) -> str:
    metadata = document.value.get("metadata") if isinstance(document.value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _check_people(model: PromotionPolicy, document: Document, people: PeopleFile) -> Iterator[Problem]:
    """Report unknown names, groups without members, and people without an address that identifies them."""
    if people.problems:
        return  # The people are unknown: their own file reports why.
    override = model.spec.override
    if override:
        path = ("spec", "override", "by")
        yield from _unknown(override.by, document, path, people)
        found = members(override.by, people.people)
        if override.proof == "signed":
            yield from _unsigned(found, document, path)
        elif found and not any(person.emails for person in found):
            message = "none of them has an e-mail address, so nobody can override it"
            yield document.problem(path, message, f"add emails in {PEOPLE_FILE}")
    for number, rule in enumerate(model.spec.rules):
        if rule.approvals and rule.approvals.by:
            where: tuple[str | int, ...] = ("spec", "rules", number, "approvals", "by")
            yield from _unknown(rule.approvals.by, document, where, people)


def _unsigned(found: tuple[PersonEntry, ...], document: Document, path: tuple[str | int, ...]) -> Iterator[Problem]:
    if found and not any(person.signers for person in found):
        remedy = f"add signers in {PEOPLE_FILE}, and their keys in {SIGNERS_FILE}"
        yield document.problem(path, "none of them has a name in the file of signers, so nobody can sign", remedy)


def _unknown(
    by: Iterable[str], document: Document, path: tuple[str | int, ...], people: PeopleFile
) -> Iterator[Problem]:
    names = {person.name for person in people.people}
    for number, each in enumerate(by):
        if each.startswith(TEAM):
            message = f"{each}: teams of a forge are not supported, so nobody would count"
            yield document.problem((*path, number), message, f"name a group of {PEOPLE_FILE}, as group:NAME")
        elif each.startswith(GROUP) and each.removeprefix(GROUP) not in people.groups:
            message = f"nobody is in the group {each.removeprefix(GROUP)}"
            yield document.problem((*path, number), message, f"add it to somebody's groups in {PEOPLE_FILE}")
        elif not each.startswith(GROUP) and each not in names:
            yield document.problem((*path, number), f"{each} is not in {PEOPLE_FILE}", "add them, or name a group")


# --- what `gitops-bg check` reports beyond each file: names, their apps, whether they can ever open ---
# Errors are rules that would keep a promotion waiting for ever, and unknown names; notes name what has no effect.


@dataclass(frozen=True, slots=True)
class CheckedPolicies:
    """The result of a check."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


def check_policies(
    folder: PolicyFolder,
    configs: Iterable[AppConfig],
    settings: tuple[Settings, Document] | None,
    now: datetime | None = None,
    environments: Environments | None = NO_ENVIRONMENTS,
) -> CheckedPolicies:
    """Return all problems and notes. ``configs`` are those of every environment. ``now``: windows must open within a
    year from then; None: this is not checked. ``environments`` None: nobody can tell which there are.
    """
    places: dict[str, dict[AppKey, Labels]] = {}
    for config in configs:
        places.setdefault(config.environment, {})[config.app] = config.labels
    within = [_Place(environment, apps) for environment, apps in places.items()]
    problems = (
        *folder.problems,
        *_twice(folder.written),
        *(_required(folder, *settings) if settings else ()),
        *(problem for place in within for each in folder.written for problem in _unknown_apps(each, place)),
        *(problem for each in folder.written if now for problem in _never_open(each, now)),
        *(problem for place in within for problem in _cycles(folder.written, place)),
        *(problem for each in folder.written for problem in _check_environments(each, environments)),
    )
    return CheckedPolicies(tuple(dict.fromkeys(problems)), tuple(_for_nobody(folder.written, within)))


@dataclass(frozen=True, slots=True)
class _Place:
    """The apps of one environment, with the labels of each; of an empty name where there are none."""

    environment: str
    apps: Mapping[AppKey, Labels]

    def matched(self, written: WrittenPolicy) -> list[AppKey]:
        """Return those that a policy is for."""
        match = written.policy.match
        return [app for app, labels in self.apps.items() if matches(match, app, labels, self.environment)]


def _check_environments(written: WrittenPolicy, environments: Environments | None) -> Iterator[Problem]:
    """Report environments that the repository lacks, and rules that ask for one that does not come before."""
    if environments is None:
        return  # its own file reports why
    globs, rules = written.policy.match.environments, ("spec", "rules")
    for number, glob in enumerate(globs):
        if not any(fnmatchcase(each, glob) for each in environments.names):
            yield _no_environment(written, ("spec", "match", "environments", number), glob, environments)
    for place, rule in enumerate(written.policy.rules):
        if isinstance(rule, After):
            for number, name in enumerate(rule.from_):
                path = (*rules, place, "after", "from", number)
                yield from _check_before(written, path, name, environments)
        elif isinstance(rule, Images) and rule.same_as:
            yield from _check_before(written, (*rules, place, "images", "sameAs"), rule.same_as, environments)


def _check_before(
    written: WrittenPolicy, path: tuple[str | int, ...], name: str, environments: Environments
) -> Iterator[Problem]:
    if name not in environments.names:
        yield _no_environment(written, path, name, environments)
        return
    globs, names = written.policy.match.environments, environments.names
    of = [each for each in names if not globs or any(fnmatchcase(each, glob) for glob in globs)]
    early = next((each for each in of if names.index(each) <= names.index(name)), "")
    if early:
        is_it = "is this environment itself" if early == name else f"does not come before {early}"
        later = [each for each in names if names.index(each) > names.index(name)]
        wanted = f"write match: {{environments: [{', '.join(later)}]}}" if later else "name one that comes before"
        message = f"{name} {is_it}, which the policy is for, too: nothing is ever promoted there"
        yield written.document.problem(path, message, wanted)


def _no_environment(
    written: WrittenPolicy, path: tuple[str | int, ...], name: str, environments: Environments
) -> Problem:
    if not environments:
        message = f"the repository has no environments, so nothing is known of {name}"
        return written.document.problem(path, message, f"write {ENVIRONMENTS_FILE}, or remove it")
    guess, known = nearest(name, environments.names), ", ".join(environments.names)
    remedy = f"did you mean {guess}?" if guess else f"there are {known}"
    return written.document.problem(path, f"there is no environment {name}", remedy)


def _twice(written: Iterable[WrittenPolicy]) -> Iterator[Problem]:
    seen: dict[str, WrittenPolicy] = {}
    for each in written:
        first = seen.setdefault(each.policy.name, each)
        if first is not each:
            message = f"there is a policy {each.policy.name} in {first.document.file} already: both count"
            yield each.document.problem(("metadata", "name"), message, "rename one of the two")


def _required(folder: PolicyFolder, settings: Settings, document: Document) -> Iterator[Problem]:
    known = {name for file in folder.files.values() for name in file.names}
    for number, name in enumerate(settings.require or ()):
        if name not in known:
            message = f"there is no policy {name} in policies/, so nothing is promoted"
            yield document.problem(("require", number), message, f"known: {', '.join(sorted(known)) or 'none'}")


def _unknown_apps(written: WrittenPolicy, place: _Place) -> Iterator[Problem]:
    apps = place.apps
    for number, rule in enumerate(written.policy.rules):
        path = ("spec", "rules", number)
        if isinstance(rule, After) and rule.app is not None:
            others = map(rule.of, (app.namespace for app in place.matched(written)))
            named = {rule.app} if rule.app.namespace else set(filter(None, others))
            for app in sorted(named - apps.keys()):
                message = f"there is no app {app}, so it never opens"
                yield written.document.problem((*path, "after", "app"), message, "name one of apps/")
        if isinstance(rule, Cel):
            for app in sorted(rule.apps - apps.keys()):
                message = f"there is no app {app}, so it has no answer"
                yield written.document.problem((*path, "cel", "expression"), message, "name one of apps/")


def _never_open(written: WrittenPolicy, now: datetime) -> Iterator[Problem]:
    """Report rules that never open, except windows that deny without an end: a freeze intends that."""
    for number, rule in enumerate(written.policy.rules):
        if isinstance(rule, Windows):
            deny = tuple(each for each in rule.deny if not (isinstance(each, DateSpan) and each.end is None))
            if next_open(replace(rule, deny=deny), now) is None:
                path = ("spec", "rules", number, "windows")
                yield written.document.problem(path, "never opens within a year", "change its windows, or remove it")


def _for_nobody(written: Iterable[WrittenPolicy], places: list[_Place]) -> Iterator[Problem]:
    for each in written:
        if places and not any(place.matched(each) for place in places):
            yield each.document.problem(("spec", "match"), "is for no app, so it does nothing", "change spec.match")


def _cycles(written: Iterable[WrittenPolicy], place: _Place) -> Iterator[Problem]:
    """Report apps that wait for one another: each must be healthy before the other, and none is while it has a
    candidate.
    """
    edges: dict[AppKey, dict[AppKey, tuple[WrittenPolicy, int]]] = {}
    for each in written:
        for number, rule in enumerate(each.policy.rules):
            if isinstance(rule, After) and each.policy.mode is Mode.ENFORCE:
                for app in place.matched(each):
                    if (other := rule.of(app.namespace)) is not None:
                        edges.setdefault(app, {})[other] = (each, number)
    told: set[frozenset[AppKey]] = set()
    for start in sorted(edges):
        circle = _circle(start, edges)
        if circle and frozenset(circle) not in told:
            told.add(frozenset(circle))
            policy, number = edges[start][circle[1]]
            message = f"{' waits for '.join(map(str, circle))}: none of them is ever promoted"
            yield policy.document.problem(("spec", "rules", number, "after"), message, "take one of them out")


def _circle(start: AppKey, edges: Mapping[AppKey, Mapping[AppKey, object]]) -> list[AppKey]:
    """Return the shortest path from an app back to itself; empty where there is none."""
    ways, seen = [[start]], {start}
    while ways:
        way = ways.pop(0)
        for following in sorted(edges.get(way[-1], ())):
            if following == start:
                return [*way, start]
            if following not in seen:
                seen.add(following)
                ways.append([*way, following])
    return []


GROUP = "group:"


def policy_of(name: str, spec: PolicySpec, people: Iterable[PersonEntry]) -> Policy:
    """Return a policy for the core. ``people`` are those of ``policies/people.yaml``."""
    return Policy(
        name=name,
        rules=tuple(each.given for each in spec.rules),
        match=spec.match or Match(),
        mode=Mode(spec.mode),
        override=_break_glass(spec.override, tuple(people)) if spec.override else None,
    )


def members(by: Iterable[str], people: Iterable[PersonEntry]) -> tuple[PersonEntry, ...]:
    """Return the people that names and groups stand for."""
    wanted = set(by)
    return tuple(
        person
        for person in people
        if person.name in wanted or any(f"{GROUP}{group}" in wanted for group in person.groups or ())
    )


def _break_glass(written: OverrideEntry, people: tuple[PersonEntry, ...]) -> BreakGlass:
    allowed = members(written.by, people)
    emails = (email.lower() for person in allowed for email in person.emails or ())
    names = frozenset(person.name for person in allowed)
    return BreakGlass(tuple(written.by), frozenset(emails), Proof(written.proof), names)

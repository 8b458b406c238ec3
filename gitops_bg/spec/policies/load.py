"""Reads the files of ``policies/``: each as a whole, good or not. Fetches nothing, and knows no last good state.

Only files right in the folder count: what is in a folder of it does nothing, until somebody copies it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policies.rules import Policy
from gitops_bg.spec.app.layout import PEOPLE_FILE, POLICIES_FOLDER, POLICY_TEST_SUFFIX, is_manifest
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.policies.models import People, PersonEntry, PromotionPolicy
from gitops_bg.spec.policies.to_core import GROUP, members, policy_of
from gitops_bg.spec.yaml.reader import Document, read, read_one

File = bytes | Problem


@dataclass(frozen=True, slots=True)
class WrittenPolicy:
    """A good policy, and where it is written."""

    policy: Policy
    document: Document
    model: PromotionPolicy


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """One file. With ``problems`` none of its policies is used: bad input is never partly applied."""

    path: str
    policies: tuple[WrittenPolicy, ...] = ()
    problems: tuple[Problem, ...] = ()
    names: tuple[str, ...] = ()
    """Of its policies, as far as they can be told, also where it is not good."""


@dataclass(frozen=True, slots=True)
class PeopleFile:
    """Who is who; nobody where there is no such file."""

    people: tuple[PersonEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    document: Document | None = None

    @property
    def groups(self) -> frozenset[str]:
        """Every group that somebody is in."""
        return frozenset(group for person in self.people for group in person.groups or ())


@dataclass(frozen=True, slots=True)
class PolicyFolder:
    """All of the folder, at one commit."""

    files: Mapping[str, PolicyFile] = field(default_factory=dict)
    people: PeopleFile = PeopleFile()

    @property
    def written(self) -> tuple[WrittenPolicy, ...]:
        """The policies of good files."""
        return tuple(each for file in self.files.values() for each in file.policies)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong with single files."""
        return (*self.people.problems, *(problem for file in self.files.values() for problem in file.problems))


def is_policy_file(path: str) -> bool:
    """Whether a file holds policies that count.

    >>> is_policy_file("policies/calm.yaml"), is_policy_file("policies/library/calm.yaml")
    (True, False)
    >>> is_policy_file("policies/calm.test.yaml"), is_policy_file("policies/people.yaml")
    (False, False)
    """
    folder, _, name = path.rpartition("/")
    counts = folder == POLICIES_FOLDER and is_manifest(name)
    return counts and path != PEOPLE_FILE and not name.endswith(POLICY_TEST_SUFFIX)


def load_policies(files: Mapping[str, File]) -> PolicyFolder:
    """The folder from its files by path. A Problem stands for a file that Git found unusable."""
    people = load_people(files.get(PEOPLE_FILE))
    found = {path: load_policy_file(path, files[path], people) for path in sorted(files) if is_policy_file(path)}
    return PolicyFolder(found, people)


def load_people(content: File | None) -> PeopleFile:
    """``policies/people.yaml``; None: there is none."""
    if content is None:
        return PeopleFile()
    if isinstance(content, Problem):
        return PeopleFile(problems=(content,))
    document, problems = read_one(PEOPLE_FILE, content)
    model, wrong = validate(People, document) if document else (None, ())
    return PeopleFile(tuple(model.people) if model else (), (*problems, *wrong), document)


def load_policy_file(path: str, content: File, people: PeopleFile) -> PolicyFile:
    """One file of policies; with everything that is wrong with it."""
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
    return PolicyFile(path, () if problems else tuple(written), tuple(problems), names)


def _name_of(document: Document) -> str:
    metadata = document.value.get("metadata") if isinstance(document.value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _check_people(model: PromotionPolicy, document: Document, people: PeopleFile) -> Iterator[Problem]:
    """Names that nobody has, groups without members, people without an address to be known by."""
    if people.problems:
        return  # What they say is not known: that file says so itself.
    override = model.spec.override
    if override:
        path = ("spec", "override", "by")
        yield from _unknown(override.by, document, path, people)
        found = members(override.by, people.people)
        if found and not any(person.emails for person in found):
            message = "none of them has an e-mail address, so nobody can override it"
            yield document.problem(path, message, f"add emails in {PEOPLE_FILE}")
    for number, rule in enumerate(model.spec.rules):
        if rule.approvals and rule.approvals.by:
            yield from _unknown(rule.approvals.by, document, ("spec", "rules", number, "approvals", "by"), people)


def _unknown(
    by: Iterable[str], document: Document, path: tuple[str | int, ...], people: PeopleFile
) -> Iterator[Problem]:
    names = {person.name for person in people.people}
    for number, each in enumerate(by):
        if each.startswith("team:"):
            continue
        if each.startswith(GROUP) and each.removeprefix(GROUP) not in people.groups:
            message = f"nobody is in the group {each.removeprefix(GROUP)}"
            yield document.problem((*path, number), message, f"add it to somebody's groups in {PEOPLE_FILE}")
        elif not each.startswith(GROUP) and each not in names:
            yield document.problem((*path, number), f"{each} is not in {PEOPLE_FILE}", "add them, or name a group")

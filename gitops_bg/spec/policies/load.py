"""Reads the files of ``policies/``, each as a whole, valid or not. Fetches nothing, and keeps no last valid state.

Only files directly in the folder count: files in its subfolders have no effect until somebody copies them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policies.rules import Policy
from gitops_bg.spec.app.layout import PEOPLE_FILE, POLICIES_FOLDER, POLICY_TEST_SUFFIX, SIGNERS_FILE, is_manifest
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.policies.models import People, PersonEntry, PromotionPolicy
from gitops_bg.spec.policies.to_core import GROUP, members, policy_of
from gitops_bg.spec.yaml.reader import Document, first_of_each, read, read_one

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

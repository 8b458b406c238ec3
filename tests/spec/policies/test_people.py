"""Who is who: by the address of a commit and the stable id of an account, never by a login that may be taken over."""

import pytest

from gitops_bg.core.model.policy_facts import CommitFacts, Person
from gitops_bg.spec.policies.load import load_people, load_policies
from gitops_bg.spec.policies.people import Account, Directory, Somebody, agreed, may_be_one, names, written_by

PEOPLE = b"""apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: ana, emails: [Ana@example.com, ana@home.example], forge: {gitea: 3, github: "30"}, groups: [leads, ops]}
- {name: ben, forge: {forgejo: 4}}
- {name: renovate, emails: [bot@renovate.example], forge: {github: 9}, bot: true, groups: [leads]}
"""
DIRECTORY = Directory(load_people(PEOPLE).people)
ANA = Somebody("ana", frozenset(["leads", "ops"]), is_listed=True)
BEN = Somebody("ben", is_listed=True)
ROBOT = Somebody("renovate", frozenset(["leads"]), bot=True, is_listed=True)


@pytest.mark.parametrize(
    ("account", "somebody"),
    [
        (Account("gitea", "3", "ana"), ANA),
        (Account("gitea", "3", "ana-renamed"), ANA),
        (Account("forgejo", "3", "ana"), ANA),
        (Account("gitea", "4", "ben"), BEN),
        (Account("github", "30", "ana"), ANA),
        (Account("github", "9", "renovate"), ROBOT),
        (Account("github", "3", "ana"), Somebody("ana (github 3)")),
        (Account("gitea", "7", "ana"), Somebody("ana (gitea 7)")),
        (Account("gitlab", "3", "ana"), Somebody("ana (gitlab 3)")),
        (Account("github", "5", "dependabot[bot]", bot=True), Somebody("dependabot[bot] (github 5)", bot=True)),
        (Account("gitea", "", "ghost"), Somebody("ghost (gitea )")),
    ],
)
def test_whose_account_it_is(account: Account, somebody: Somebody) -> None:
    assert DIRECTORY.owner(account) == somebody


@pytest.mark.parametrize(
    ("person", "kind", "somebody"),
    [
        (Person("A", "ana@example.com"), "", ANA),
        (Person("A", "ANA@home.example"), "", ANA),
        (Person("Renovate", "bot@renovate.example"), "", ROBOT),
        (Person("ana", "ana@elsewhere.example"), "", Somebody("ana <ana@elsewhere.example>")),
        (Person("dependabot[bot]", "49699333+dependabot[bot]@users.noreply.github.com"), "github", None),
        (Person("A", "30+ana@users.noreply.github.com"), "github", ANA),
        (Person("A", "3+ana@noreply.localhost"), "gitea", ANA),
        (Person("A", "3-ana@users.noreply.gitlab.com"), "gitlab", None),
        (Person("A", "3+ana@noreply.localhost"), "", None),
        (Person("", ""), "", Somebody("")),
    ],
)
def test_whose_commit_it_is(person: Person, kind: str, somebody: Somebody | None) -> None:
    expected = somebody or Somebody(str(person), bot="[bot]" in person.name)
    assert DIRECTORY.writer(person, kind) == expected


def test_who_is_unknown_has_a_name_that_a_login_alone_cannot_give() -> None:
    """`by: [ana]` means the entry `ana`, and nobody else who calls the account or the commit so."""
    strangers = [DIRECTORY.owner(Account("gitea", "7", "ana")), DIRECTORY.writer(Person("ana", "x@y"))]
    assert "ana" not in names(strangers)
    assert not any(each.groups or each.is_listed for each in strangers)


@pytest.mark.parametrize(
    ("person", "same"),
    [
        (Person("Ana", "x@y"), True),
        (Person("x", "ANA@y"), True),
        (Person("x", "12+ana@users.noreply.github.com"), True),
        (Person("x", "3+other@noreply.localhost"), True),
        (Person("Ben", "ben@example.com"), False),
        (Person("", ""), False),
    ],
)
def test_who_may_be_the_same_is_told_by_all_that_is_known(person: Person, same: bool) -> None:
    assert may_be_one(person, Account("gitea", "3", "ana")) is same


def test_co_authors_wrote_it_too() -> None:
    trailers = (("Co-authored-by", "Bob <b@x>"), ("co-authored-by", "Ada <a@x>"), ("Co-authored-by", " "))
    assert written_by(CommitFacts("9be1", Person("Ada", "a@x"), trailers=trailers)) == (
        Person("Ada", "a@x"),
        Person("Bob", "b@x"),
    )


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Co-authored-by: Bob <b@x>\nLooked at together.", {Person("Bob", "b@x")}),
        ("    Co-authored-by: Bob <b@x>\n\nSigned-off-by: Ada <a@x>", {Person("Bob", "b@x")}),
        ("* one\n\nCO-AUTHORED-BY : Bob <b@x>\r\n\n* two", {Person("Bob", "b@x")}),
        ("Co-authored-by: Bob <b@x>, Cy <c@x>", {Person("Bob", "b@x"), Person("Cy", "c@x")}),
        ("Co-authored-by: b@x", {Person("", "b@x")}),
        ("Co-authored-by: Bob", {Person("Bob")}),
        ("written with Bob <b@x>, who co-authored-by: nobody", set()),
    ],
)
def test_co_authors_are_found_in_whatever_form_people_and_squashes_leave_them(said: str, found: set[Person]) -> None:
    """Git takes only the last paragraph for trailers, and none of it if it has other lines."""
    ada = Person("Ada", "a@x")
    assert set(written_by(CommitFacts("9be1", ada, message=f"web v2\n\n{said}\n"))) == {ada} | found


def test_only_groups_that_both_files_give_count() -> None:
    assert agreed(ANA, Somebody("ana", frozenset(["ops", "x"]), is_listed=True)) == Somebody(
        "ana", frozenset(["ops"]), is_listed=True
    )
    assert agreed(ANA, Somebody("ana (gitea 3)")) is None


WRONG = {
    "- {name: ana, forge: {gitea: ana}}": "people[0].forge.gitea: ana is no id (write the number that the forge has",
    "- {name: ana, forge: {gitub: 3}}": "people[0].forge.gitub: gitub is no forge (write one of github, gitlab, gitea",
    "- {name: ana, forge: {gitea: 0}}": "0 is no id",
    "- {name: a, emails: [x@y]}\n- {name: b, emails: [X@y]}": "people[1]: x@y is that of a, too (leave it with one",
    "- {name: a, forge: {gitea: 3}}\n- {name: b, forge: {forgejo: 3}}": "people[1]: forgejo id 3 is that of a, too",
    "- {name: a, signers: [k]}\n- {name: b, signers: [k]}": "people[1]: signer k is that of a, too",
}


@pytest.mark.parametrize("people", WRONG)
def test_a_person_that_cannot_be_told_apart_is_an_error_with_its_line(people: str) -> None:
    (problem,) = load_people(f"apiVersion: gitops-bg.dev/v1alpha1\nkind: People\npeople:\n{people}\n".encode()).problems
    assert WRONG[people] in str(problem)
    assert str(problem).startswith("policies/people.yaml:4:") or problem.line == 5


def test_a_team_of_a_forge_is_not_supported_and_that_is_an_error_with_its_line() -> None:
    text = b"""apiVersion: gitops-bg.dev/v1alpha1
kind: PromotionPolicy
metadata: {name: calm}
spec:
  rules:
  - approvals: {by: ["team:org/leads"]}
"""
    (problem,) = load_policies({"policies/calm.yaml": text, "policies/people.yaml": PEOPLE}).problems
    assert str(problem) == (
        "policies/calm.yaml:6: spec.rules[0].approvals.by[0]: team:org/leads: teams of a forge are not supported, "
        "so nobody would count (name a group of policies/people.yaml, as group:NAME)"
    )

"""Which policies are in force: valid files as they are, broken ones with their last content, required ones or shut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from gitops_bg.agent.desired import document_caches
from gitops_bg.agent.desired.document_caches import PolicyCache, PolicyView
from gitops_bg.agent.desired.policy_inputs import PolicyInputs
from gitops_bg.agent.desired.reading import Reading
from gitops_bg.core.errors import Transient
from gitops_bg.core.model.desired import Desired, Missing, Problem
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.read.promotion_branches import FetchedPromotion
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.policies.load import load_policy_file
from gitops_bg.spec.policies.people import Directory
from tests.fixtures.repos.texts import policy

WEB, PAY = AppKey("shop", "web"), AppKey("pay", "api")
GOOD = policy("calm", "- soak: {for: 1h}", more="  match: {namespaces: [shop]}\n").encode()
BAD = GOOD.replace(b"1h", b"soon")
FILE = "policies/calm.yaml"


def cache(*earlier: bytes) -> PolicyCache:
    def said(path: str) -> Iterable[bytes]:
        return earlier if path == FILE else ()

    return PolicyCache(said)


def names(made: PolicyCache, app: AppKey = WEB) -> list[tuple[str, bool]]:
    """The policies of an app, and whether they are shut because nobody knows what they say."""
    return [(each.name, bool(each.broken)) for each in made.view.of(app, ())]


def test_a_good_file_holds_and_what_is_the_same_is_no_news() -> None:
    made = cache()
    assert made.update({FILE: GOOD}, ())
    assert not made.update({FILE: GOOD}, ())
    assert (names(made), names(made, PAY)) == ([("calm", False)], [])
    assert made.update({}, ())
    assert names(made) == []


def test_a_link_in_place_of_the_folder_removes_no_policy() -> None:
    link = Problem("policies", "is a symbolic link; links are not followed")
    made = cache()
    made.update({FILE: GOOD}, ())
    made.update({"policies": link}, ())
    assert names(made) == [("calm", False), ("policies", True)]
    assert names(made, PAY) == [("policies", True)]
    assert "policies: is a symbolic link" in made.view.troubles_of(PAY, ())[0]
    assert made.view.people.unread, "nobody knows who is who"
    made.update({}, ())
    assert names(made) == []


def test_a_broken_file_keeps_what_it_said_last_and_says_so_to_whom_it_is_for() -> None:
    made = cache()
    made.update({FILE: GOOD}, ())
    made.update({FILE: BAD}, ())
    assert names(made) == [("calm", False)]
    assert "policies/calm.yaml:7" in made.view.troubles_of(WEB, ())[0]
    assert made.view.troubles_of(PAY, ()) == ()
    made.update({FILE: GOOD}, ())
    assert made.view.troubles_of(WEB, ()) == ()


def test_after_a_restart_a_broken_file_says_what_main_said_before() -> None:
    made = cache(BAD, GOOD)
    made.update({FILE: BAD}, ())
    assert (names(made), names(made, PAY)) == ([("calm", False)], [])


def test_where_nobody_knows_what_it_said_it_is_shut_for_all() -> None:
    made = cache(BAD)
    made.update({FILE: BAD}, ())
    assert (names(made), names(made, PAY)) == ([("calm", True)], [("calm", True)])


def test_a_required_one_that_is_broken_is_shut_for_whom_it_was() -> None:
    made = cache()
    made.update({FILE: GOOD}, ["calm"])
    assert names(made) == [("calm", False)]
    made.update({FILE: BAD}, ["calm"])
    assert (names(made), names(made, PAY)) == ([("calm", True)], [])


def test_a_required_one_that_is_missing_is_shut_for_all() -> None:
    made = cache()
    made.update({}, ["calm"])
    assert (names(made), names(made, PAY)) == ([("calm", True)], [("calm", True)])
    assert made.view.of(WEB, ())[0].broken == "gitops-bg.yaml requires it, and policies/ does not have it"


def test_people_that_are_broken_stay_who_they_were() -> None:
    people = (
        b"apiVersion: gitops-bg.dev/v1alpha1\nkind: People\npeople:\n"
        b"- {name: ada, emails: [ada@example.com], groups: [incident]}\n"
    )
    lets = policy("calm", "- soak: {for: 1h}", more="  override: {by: [group:incident]}\n").encode()
    made = cache()
    made.update({FILE: lets, "policies/people.yaml": people}, ())
    made.update({FILE: lets, "policies/people.yaml": people + b"- {nam: eve}\n"}, ())
    (found,) = made.view.of(WEB, ())
    assert found.override is not None
    assert found.override.emails == {"ada@example.com"}
    assert "policies/people.yaml:5" in made.view.troubles_of(WEB, ())[0]


def test_people_whom_no_content_of_the_file_tells_are_unknown_and_not_nobody() -> None:
    made = cache()
    made.update({FILE: GOOD, "policies/people.yaml": b"people: ["}, ())
    assert made.view.people.unread.startswith("policies/people.yaml:")
    assert names(made) == [("calm", False)]
    made.update({FILE: GOOD}, ())
    assert made.view.people == Directory(), "without the file, nobody is in it"


def test_a_bug_that_one_file_meets_is_a_problem_of_that_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one author writes never stops what others wrote from being read."""
    load = load_policy_file

    def hostile(path: str, content: Any, people: Any) -> Any:
        if path == FILE and content != GOOD:
            raise OverflowError("date value out of range")
        return load(path, content, people)

    monkeypatch.setattr(document_caches, "load_policy_file", hostile)
    made = cache()
    made.update({FILE: GOOD}, ())
    other = policy("other", "- soak: {for: 1h}").encode()
    made.update({FILE: BAD, "policies/other.yaml": other}, ())
    assert names(made) == [("calm", False), ("other", False)]
    assert "a bug of the agent: OverflowError" in made.view.troubles_of(WEB, ())[0]


def test_a_bug_that_the_list_of_people_meets_is_a_problem_of_that_file(monkeypatch: pytest.MonkeyPatch) -> None:
    made = cache()
    monkeypatch.setattr(document_caches, "load_people", lambda _: 1 / 0)
    made.update({FILE: GOOD}, ())
    assert names(made) == [("calm", False)]
    assert "policies/people.yaml" in made.view.troubles_of(WEB, ())[0]


def test_a_bug_in_what_an_app_is_told_shuts_its_promotions_only() -> None:
    class Broken(PolicyView):
        def of(self, app: AppKey, labels: Any, environment: str = "") -> Any:
            raise KeyError("no such thing")

    repository: Any = None
    facts = PolicyInputs(repository)
    told = facts.of(
        Reading(policies=Broken()),
        WEB,
        AppConfig(WEB, None, {}, None, None),
        Desired("", Missing.ABSENT, Missing.ABSENT),
        Record(),
    )
    assert told is not None
    assert [each.name for each in told.policies if each.broken] == ["policies"]


def test_a_promotion_branch_that_cannot_be_read_may_hold_any_file() -> None:
    class Away:
        def extra_files_of_offer(self, app: AppKey, head: str) -> tuple[str, ...]:
            raise Transient("the mirror lacks a folder")

    made = cache()
    made.update({FILE: GOOD}, ())
    repository: Any = Away()
    told = PolicyInputs(repository).of(
        Reading(policies=made.view, promotions={WEB: FetchedPromotion("a" * 40, None, None)}),
        WEB,
        AppConfig(WEB, None, {}, None, None),
        Desired("", Missing.ABSENT, Missing.ABSENT),
        Record(),
    )
    assert told is not None
    assert told.beside == ("files that nobody can read (the mirror lacks a folder)",)

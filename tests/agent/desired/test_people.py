"""Who wrote, approved and merged it: from what a forge said, what Git has, and people.yaml (policies.md §4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.agent.desired.people import Circumstances, PeopleFacts
from gitops_bg.agent.desired.promoted import AppVersion, AppVersions
from gitops_bg.core.errors import Transient
from gitops_bg.core.model.desired import Desired, Primary, Target
from gitops_bg.core.model.journal import Merge, PullState
from gitops_bg.core.model.policy_facts import CommitFacts, Person, PolicyInput
from gitops_bg.core.model.policy_rules import Approvals, Policy, Proof, Role, Separation
from gitops_bg.core.model.record import PendingMergeLookup, Record, Routing
from gitops_bg.core.model.version import Color, Snapshot, Source, Stage, Version
from gitops_bg.forge.asking import ForgeAnswer, Merged
from gitops_bg.forge.port import Pull, Review, ReviewVerdict, User
from gitops_bg.spec.policies.load import load_people
from gitops_bg.spec.policies.people import Directory
from tests.core.simulation import APP
from tests.fixtures.repos.texts import digest, primary
from tests.forge.offers import NOW

PEOPLE = b"""apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: ana, emails: [ana@example.com], forge: {gitea: 3}, groups: [leads]}
- {name: ben, emails: [ben@example.com], forge: {gitea: 4}, groups: [leads, ops]}
- {name: renovate, emails: [bot@renovate.example], forge: {gitea: 9}, bot: true}
"""
DIRECTORY = Directory(load_people(PEOPLE).people)
ANA, BEN, CY = User("3", "ana"), User("4", "ben"), User("5", "cy")
AGENT, ROBOT = User("2", "agent"), User("9", "renovate")
NEW, OLD = digest("web", "2.0.0"), digest("web", "1.0.0")
BEFORE, AFTER, PROMOTION = "a" * 40, "b" * 40, "c" * 40
"""The commits of what serves, of what is to, and the one of main that promotes it."""
HEAD, REBUILT, OTHER, GONE = "1" * 40, "2" * 40, "3" * 40, "4" * 40
"""Heads of the promotion branch: two with the same content, one with other content, one that nobody has."""


def by(name: str, email: str, commit: str = AFTER, *co: str, committer: Person | None = None) -> CommitFacts:
    person = Person(name, email)
    return CommitFacts(commit, person, committer or person, NOW, "", tuple(("Co-authored-by", each) for each in co))


OFFER = by("gitops-bg", "gitops-bg@localhost", HEAD)
"""What the agent pushed."""


@dataclass
class FakeRepository:
    """What Git would answer."""

    wrote: tuple[CommitFacts, ...] | None = (by("Dan", "dan@example.com"),)
    landings: dict[str, CommitFacts] = field(default_factory=dict)
    known: dict[str, CommitFacts] = field(default_factory=lambda: {HEAD: by("gitops-bg", "gitops-bg@localhost", HEAD)})
    promotions: frozenset[str] = frozenset()
    """Commits that changed ``primary.yaml`` alone."""
    away: bool = False

    def primary_at(self, app: Any, commit: str) -> bytes | None:
        if self.away:
            raise Transient("the remote is away")
        content = {HEAD: "2.0.0", REBUILT: "2.0.0", OTHER: "3.0.0"}.get(commit)
        return primary(app.namespace, app.name, content, 2) if content else None

    @property
    def mirror(self) -> FakeRepository:
        """Stands for its parts as well."""
        return self

    changes = commits = mirror

    def has(self, commit: str) -> bool:
        return commit in (BEFORE, AFTER)

    def between(self, app: Any, before: str, after: str) -> tuple[CommitFacts, ...] | None:
        assert (before, after) == (BEFORE, AFTER)
        return self.wrote

    def wrote_content(self, app: Any, before: str, after: str, commit: str) -> bool:
        assert (before, after) == (BEFORE, AFTER)
        return commit not in self.promotions

    def landing_of(self, commit: str) -> str:
        return f"landing of {commit}" if commit in self.landings else ""

    def facts(self, commits: Any) -> dict[str, CommitFacts]:
        known = {f"landing of {commit}": facts for commit, facts in self.landings.items()} | self.known
        return {commit: known[commit] for commit in commits if commit in known}


def version(number: int, digest_: str, commit: str) -> Version:
    snapshot = Snapshot(digest_, "{}")
    return Version(number, snapshot, Color.BLUE, Stage.CANDIDATE, Source(commit), number, NOW)


RECORD = Record(versions=(version(1, OLD, BEFORE), version(2, NEW, AFTER)), routing=Routing(traffic=OLD))
TARGET = Target(Snapshot(NEW, "{}"), 2, Source(AFTER))
OFFERED = Desired("d" * 40, TARGET, Primary(Snapshot(OLD, "{}"), 1, Source(BEFORE), Source("e" * 40)))
WAITS = replace(OFFERED, primary=Primary(Snapshot(NEW, "{}"), 2, Source("forged"), Source(PROMOTION)))
"""Its promotion was merged, and waits for its gates."""
PULL = Pull(7, "b", HEAD, "main", PullState.OPEN, "", "", "https://forge/7", AGENT, NOW)
RULES = (Approvals(2), Separation((Role.AUTHOR, Role.MERGER)))


def review(
    user: User = BEN, commit: str = HEAD, verdict: ReviewVerdict = ReviewVerdict.APPROVED, minute: int = 0
) -> Review:
    return Review(user, verdict, NOW + timedelta(minutes=minute), commit)


def told(*reviews: Review, repository: FakeRepository | None = None, **changes: Any) -> PolicyInput:
    heard = ForgeAnswer("gitea", NOW, PULL, reviews, changes.pop("merged", {}), changes.pop("ours", frozenset()))
    given: dict[str, Any] = {"heard": heard, "people": DIRECTORY, "has_forge": True, "agent": "gitops-bg@localhost"}
    git = repository or FakeRepository()
    next_version = version_of(changes.pop("desired", OFFERED), git)
    about = Circumstances(next_version, **{**given, **changes})
    return PeopleFacts(git).of(PolicyInput((Policy("p", RULES),)), about)  # type: ignore[arg-type]


def version_of(desired: Desired, git: FakeRepository | None = None, record: Record = RECORD) -> AppVersion:
    return AppVersions(git or FakeRepository()).of(APP, desired, record)  # type: ignore[arg-type]


def approvals(policing: PolicyInput) -> list[tuple[str, str, str]]:
    """Name, which content, why not."""
    which = {NEW: "new", OLD: "old"}
    return [(each.by, which.get(each.digest, "other"), each.void) for each in policing.approvals or ()]


@pytest.mark.parametrize(
    ("reviews", "found"),
    [
        ([], []),
        ([review()], [("ben", "new", "")]),
        ([review(commit=REBUILT)], [("ben", "new", "")]),
        ([review(commit=OTHER)], [("ben", "other", "")]),
        ([review(commit=OTHER), review(minute=1, commit=REBUILT)], [("ben", "new", "")]),
        ([review(CY)], [("cy (gitea 5)", "new", "")]),
        ([review(User("5", "ben"))], [("ben (gitea 5)", "new", "")]),
        ([review(User("6", "eva"))], [("eva (gitea 6)", "new", "")]),
        ([review(User("4", "ben-renamed"))], [("ben", "new", "")]),
        ([review(commit=GONE)], [("ben", "new", f"nobody can tell what ben approved: commit {GONE[:10]} is gone")]),
        ([review(ROBOT)], [("renovate", "new", "renovate is a bot, and approvals are people's")]),
        ([review(verdict=ReviewVerdict.CHANGES_REQUESTED)], [("ben", "new", "ben asks for changes")]),
        ([review(verdict=ReviewVerdict.WITHDRAWN)], [("ben", "new", "the approval of ben was withdrawn")]),
        (
            [review(AGENT)],
            [("agent (gitea 2)", "new", "agent is an author, and approves nothing of their own")],
        ),
    ],
)
def test_an_approval_is_of_the_content_that_its_commit_has_by_whoever_has_that_account(reviews, found) -> None:
    assert approvals(told(*reviews)) == found


@pytest.mark.parametrize(
    ("account", "may_be"),
    [
        (User("6", "eva"), {"eva"}),
        (User("6", "EVA"), {"eva"}),
        (User("6", "eva.p"), {"eva"}),
        (User("6", "fay"), {"fay"}),
        (User("5", "ben"), set()),
        (User("4", "eva"), set()),
        (User("6", "gus"), set()),
    ],
    ids=["by name", "in other letters", "by address", "without addresses", "has another account", "listed", "nobody"],
)
def test_an_account_that_nobody_has_may_be_of_people_without_one(account: User, may_be: set[str]) -> None:
    """Found: who signs, and reviews under an account that people.yaml does not have, was two people."""
    eva = b"- {name: eva, emails: [eva.p@example.com], signers: [eva]}\n- {name: fay, signers: [fay]}\n"
    people = Directory(load_people(PEOPLE + eva).people)
    for verdict in (ReviewVerdict.APPROVED, ReviewVerdict.CHANGES_REQUESTED):
        (found,) = told(review(account, verdict=verdict), people=people).approvals or ()
        assert found.may_be == may_be


def test_who_asks_for_changes_objects_from_then_on() -> None:
    (found,) = told(review(minute=3, verdict=ReviewVerdict.CHANGES_REQUESTED)).approvals or ()
    assert (found.objection, found.at) == (True, NOW + timedelta(minutes=3))
    (found,) = told(review(verdict=ReviewVerdict.WITHDRAWN)).approvals or ()
    assert not found.objection


def test_the_agents_own_account_never_approves_whoever_opened_the_pull_request() -> None:
    pull = replace(PULL, author=CY)
    heard = ForgeAnswer("gitea", NOW, pull, (review(AGENT), review(CY)), {}, frozenset([AGENT.id]))
    assert all(why.endswith("approves nothing of their own") for _, _, why in approvals(told(heard=heard)))


def test_groups_are_those_of_now_and_of_when_it_was_promoted() -> None:
    (now,) = told(review()).approvals or ()
    assert now.groups == {"leads", "ops"}
    then = Directory(load_people(PEOPLE.replace(b"[leads, ops]", b"[ops]")).people)
    (both,) = told(review(), desired=WAITS, people_then=then, merged={PROMOTION: Merged(PULL, ())}).approvals or ()
    assert both.groups == {"ops"}


def test_an_account_that_was_somebody_else_s_when_it_was_promoted_approves_nothing_now() -> None:
    for before, had in (
        (PEOPLE.replace(b"gitea: 4", b"gitea: 40"), "did not have ben (gitea 4)"),
        (PEOPLE.replace(b"name: ben", b"name: bea"), "had ben (gitea 4) as bea"),
    ):
        then = Directory(load_people(before).people)
        found = approvals(told(review(), desired=WAITS, people_then=then, merged={PROMOTION: Merged(PULL, ())}))
        why = f"policies/people.yaml {had} when this was promoted: promote it again"
        assert found == [("ben", "new", why)]


@pytest.mark.parametrize("then", [b"name: ben, emails", b"name: ben, bot: true, emails"])
def test_a_bot_of_then_is_no_person_now(then: bytes) -> None:
    before = Directory(load_people(PEOPLE.replace(b"name: ben, emails", then)).people)
    found = approvals(told(review(), desired=WAITS, people_then=before, merged={PROMOTION: Merged(PULL, ())}))
    why = "ben is a bot, and approvals are people's" if b"bot" in then else ""
    assert found == [("ben", "new", why)]


def test_of_what_waits_an_author_is_whoever_main_knew_by_an_address_before_it_or_knows_now() -> None:
    """Who takes their address out of people.yaml after the promotion does not become another person by that."""
    ben = FakeRepository((by("B", "old@example.com"),))
    other = Directory(load_people(PEOPLE.replace(b"ben@example.com", b"old@example.com")).people)
    waits: dict[str, Any] = {"desired": WAITS, "merged": {PROMOTION: Merged(PULL, ())}, "repository": ben}
    assert told(review(), **waits).authors == {"B <old@example.com>"}
    for people, then in ((DIRECTORY, other), (other, DIRECTORY)):
        assert "ben" in (told(review(), people=people, people_then=then, **waits).authors or ())


def test_who_opened_the_pull_request_under_an_account_that_main_knew_before_is_an_author() -> None:
    heard = ForgeAnswer("gitea", NOW, replace(PULL, author=ANA), (), {PROMOTION: Merged(PULL, ())})
    now = Directory(load_people(PEOPLE.replace(b"gitea: 3", b"gitea: 30")).people)
    assert "ana" in (told(heard=heard, desired=WAITS, people=now, people_then=DIRECTORY).authors or ())


@pytest.mark.parametrize(
    ("commit", "authors"),
    [
        (by("Ana", "ANA@example.com"), {"ana"}),
        (by("Dan", "dan@example.com", AFTER, "Ben <ben@example.com>"), {"Dan <dan@example.com>", "ben"}),
        (by("Ben", "ben@home.example"), {"Ben <ben@home.example>", "ben"}),
        (by("somebody", "ben@home.example"), {"somebody <ben@home.example>", "ben"}),
        (by("Cy", "cy@example.com"), {"Cy <cy@example.com>", "cy (gitea 5)"}),
        (by("x", "4+ben@noreply.localhost"), {"ben"}),
    ],
)
def test_authors_are_all_who_wrote_it_under_whatever_address(commit: CommitFacts, authors: set[str]) -> None:
    """Who approves and may be who wrote it is taken for the same: that takes an approval away, and gives none."""
    assert told(review(), review(CY), repository=FakeRepository((commit,))).authors == authors


def test_nobody_is_no_author_by_writing_under_the_agents_address() -> None:
    forged = by("gitops-bg", "GitOps-BG@localhost")
    found = told(review(), repository=FakeRepository((forged,)))
    assert found.authors is None
    assert found.unheard == f"{AFTER[:10]} is under the agent's address, and the agent writes only primary.yaml"
    repository = FakeRepository((forged,), promotions=frozenset([AFTER]))
    assert told(review(), repository=repository).authors == set(), "its own commits change primary.yaml alone"


def test_where_nobody_can_tell_who_is_who_approvals_and_authors_are_unknown() -> None:
    found = told(review(), people=Directory(unread="policies/people.yaml:3: no"))
    assert (found.approvals, found.authors, found.merger) == (None, None, None)
    assert found.unheard == "nobody can tell who is who: policies/people.yaml:3: no"


def test_who_opened_the_pull_request_is_an_author_and_the_agent_is_not() -> None:
    heard = ForgeAnswer("gitea", NOW, replace(PULL, author=ANA), (), {})
    assert told(heard=heard).authors == {"Dan <dan@example.com>", "ana"}
    assert told().authors == {"Dan <dan@example.com>"}


def test_who_pushed_the_branch_by_hand_is_an_author() -> None:
    repository = FakeRepository(known={HEAD: by("Ana", "ana@example.com", HEAD)})
    assert told(repository=repository).authors == {"Dan <dan@example.com>", "ana"}


def test_authors_that_git_cannot_tell_are_unknown_and_it_says_so() -> None:
    found = told(repository=FakeRepository(None))
    assert found.authors is None
    assert found.unheard == (
        f"the commits between {BEFORE[:10]} and {AFTER[:10]} are not all here; until the next promotion, only a policy "
        "with an override lets it pass"
    )


BOTS = (by("Renovate", "bot@renovate.example"),)


def test_of_a_bot_s_change_whoever_merged_it_is_an_author_by_the_forge() -> None:
    asked = told(repository=FakeRepository(BOTS))
    assert (asked.authors, asked.mergers_asked) == (None, (AFTER,))
    assert asked.unheard.startswith(f"who merged {AFTER[:10]}, which a bot wrote, is not known: the forge has not")
    merged = {AFTER: Merged(replace(PULL, merged_by=ANA))}
    found = told(repository=FakeRepository(BOTS), merged=merged)
    assert (found.authors, found.mergers_asked) == ({"renovate", "ana"}, (AFTER,))


@pytest.mark.parametrize("has_forge", [True, False])
def test_where_no_pull_request_let_it_in_git_says_who_did(has_forge: bool) -> None:
    landing = by("Ana", "ana@example.com", "f" * 40)
    repository = FakeRepository(BOTS, {AFTER: landing})
    merged = {AFTER: Merged()} if has_forge else {}
    heard = ForgeAnswer("gitea", NOW, PULL, (), merged) if has_forge else None
    assert told(repository=repository, has_forge=has_forge, heard=heard).authors == {"renovate", "ana"}


UNREADABLE: dict[str, tuple[dict[str, Any], str]] = {
    "what the pull request promotes": (
        {"repository": FakeRepository(known={})},
        "nobody can read what the pull request promotes: promote it again",
    ),
    "how a bot's commit came into main": (
        {"repository": FakeRepository(BOTS), "merged": {AFTER: Merged()}},
        f"who merged {AFTER[:10]}, which a bot wrote, is not known: nobody can read its commit in main",
    ),
    "whose account merged a bot's commit": (
        {"repository": FakeRepository(BOTS), "merged": {AFTER: Merged(replace(PULL, merged_by=None))}},
        f"who merged {AFTER[:10]}, which a bot wrote, is not known: the forge names no account",
    ),
}


@pytest.mark.parametrize(("what", "why"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_leaves_the_authors_unknown(what: dict[str, Any], why: str) -> None:
    found = told(review(), **what)
    assert (found.authors, found.unheard) == (None, why)


@pytest.mark.parametrize(
    ("merged", "why"),
    [
        (Merged(replace(PULL, merged_by=None)), "the forge names no account"),
        (Merged(), "nobody can read its commit in main"),
    ],
)
def test_a_merger_that_nobody_can_tell_is_unknown(merged: Merged, why: str) -> None:
    found = told(desired=WAITS, merged={PROMOTION: merged})
    assert (found.merger, found.unheard) == (None, why)


def test_who_merged_is_known_once_it_is_merged_and_the_forge_said_so() -> None:
    assert (told().merger, told().unheard) == (None, "")
    waits = told(desired=WAITS)
    assert (waits.merger, waits.unheard.startswith("the forge has not answered yet")) == (None, True)
    assert told(desired=WAITS, merged={PROMOTION: Merged(replace(PULL, merged_by=ANA))}).merger == "ana"


MERGED_AT = FakeRepository(known={HEAD: OFFER, PROMOTION: replace(OFFER, commit=PROMOTION)})


@pytest.mark.parametrize(
    ("by_whom", "changes", "found"),
    [
        (ANA, {}, ("ana", "")),
        (CY, {}, ("cy (gitea 5)", "")),
        (ROBOT, {}, ("renovate", "renovate is a bot, and approvals are people's")),
        (AGENT, {"ours": frozenset(["2"])}, ("agent (gitea 2)", "the agent merged it, and approvals are people's")),
        (
            ANA,
            {"people_then": Directory(load_people(PEOPLE.replace(b"gitea: 3", b"gitea: 30")).people)},
            ("ana", "policies/people.yaml did not have ana (gitea 3) when this was promoted: promote it again"),
        ),
    ],
    ids=["a person", "a stranger", "a bot", "the agent", "somebody whom main did not know"],
)
def test_who_merged_the_promotion_approves_by_that(
    by_whom: User, changes: dict[str, Any], found: tuple[str, str]
) -> None:
    merged = {PROMOTION: Merged(replace(PULL, merged_by=by_whom))}
    merge = told(repository=MERGED_AT, desired=WAITS, merged=merged, **changes).merge
    assert merge is not None
    assert (merge.digest, merge.at, merge.proof) == (NEW, NOW, Proof.MERGE)
    assert (merge.by, merge.void) == found


def test_nobody_approves_by_a_merge_that_is_not_there_or_not_known() -> None:
    assert told(repository=MERGED_AT).merge is None, "nobody merged it"
    assert told(repository=MERGED_AT, desired=WAITS).merge is None, "the forge has not answered"
    unnamed = {PROMOTION: Merged(replace(PULL, merged_by=None))}
    assert told(repository=MERGED_AT, desired=WAITS, merged=unnamed).merge is None


@pytest.mark.parametrize(
    ("landing", "void"),
    [(by("Ben", "ben@example.com"), ""), (OFFER, "the agent merged it, and approvals are people's")],
)
def test_without_a_forge_git_says_who_approved_by_merging(landing: CommitFacts, void: str) -> None:
    repository = replace(MERGED_AT, landings={PROMOTION: landing})
    merge = told(repository=repository, desired=WAITS, has_forge=False, heard=None).merge
    assert merge is not None
    assert (merge.void, merge.by == "ben") == (void, not void)


@pytest.mark.parametrize(
    ("committer", "merger"),
    [
        (Person("Ben", "ben@example.com"), "ben"),
        (Person("GitHub", "noreply@github.com"), "ana"),
    ],
)
def test_without_a_forge_git_says_who_merged(committer: Person, merger: str) -> None:
    landing = by("Ana", "ana@example.com", PROMOTION, committer=committer)
    repository = FakeRepository(landings={PROMOTION: landing})
    assert told(repository=repository, desired=WAITS, has_forge=False, heard=None).merger == merger


def test_what_nobody_has_heard_is_unknown_and_what_was_heard_before_an_outage_says_when() -> None:
    never = told(heard=None, trouble="the forge is down")
    assert (never.approvals, never.unheard) == (None, "the forge is down")
    later = told(review(), trouble="the forge is down")
    assert (approvals(later), later.unheard) == (
        [("ben", "new", "")],
        "as of 2026-01-01 12:00 UTC: the forge is down",
    )
    without = told(heard=None, has_forge=False)
    assert (without.approvals, without.unheard) == (None, "")


def test_a_git_that_is_away_makes_approvals_void_and_no_error() -> None:
    ((who, _, why),) = approvals(told(review(), repository=FakeRepository(away=True)))
    assert (who, why.startswith("nobody can tell")) == ("ben", True)


def test_nothing_is_asked_where_no_rule_asks_and_where_nothing_serves() -> None:
    nothing = PolicyInput((Policy("p", ()),))
    about = Circumstances(version_of(OFFERED), DIRECTORY)
    assert PeopleFacts(None).of(nothing, about) is nothing  # type: ignore[arg-type]
    first = PolicyInput((Policy("p", RULES),))
    settled = replace(OFFERED, target=replace(TARGET, snapshot=Snapshot(OLD, "{}")))
    assert PeopleFacts(None).of(first, replace(about, version=version_of(settled))) is first  # type: ignore[arg-type]
    assert PeopleFacts(None).of(first, replace(about, version=version_of(OFFERED, record=Record()))) is first  # type: ignore[arg-type]


def merges(merged: dict[str, Merged], **asked: Any) -> tuple[Merge, ...]:
    heard = ForgeAnswer("gitea", NOW, merged=merged)
    about = Circumstances(version_of(OFFERED), DIRECTORY, heard=heard, has_forge=True, **asked)
    return PeopleFacts(FakeRepository()).merges(about, [PendingMergeLookup(PROMOTION, NEW, NOW)])  # type: ignore[arg-type]


def test_after_the_switch_the_answer_names_who_merged_and_whose_approvals_were_of_this_content() -> None:
    reviews = (review(), review(CY, OTHER), review(ROBOT), review(AGENT), review(ANA, REBUILT, minute=-1))
    merged = Merged(replace(PULL, merged_by=CY), reviews)
    assert merges({PROMOTION: merged}) == (Merge(PROMOTION, 7, "https://forge/7", "cy (gitea 5)", ("ana", "ben")),)
    assert merges({PROMOTION: Merged(replace(PULL, merged_by=CY))}) == (), "its reviews were not read yet"
    assert merges({PROMOTION: Merged()}) == (Merge(PROMOTION),)
    assert merges({}) == ()

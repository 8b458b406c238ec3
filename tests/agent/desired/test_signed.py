"""Who signed what, as policies are told: by the signers of then and of now, for this app, version and repository.

The repository is a fake that answers as the real one does (tests/integration/repo/test_signed_approvals.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_bg.agent.desired.signed import SignedFacts
from gitops_bg.core.model.policies.facts import Approval, CommitFacts, Person, Policing, SignedBy
from gitops_bg.core.model.policies.rules import Approvals, BreakGlass, Policy, Proof
from gitops_bg.core.world import World
from gitops_bg.repo.read.approvals import Statement
from gitops_bg.repo.read.commits import Around
from gitops_bg.repo.verification.signatures import NoSshKeygen, Signature
from tests.core.simulation import APP
from tests.core.worlds import NOW, active, candidate, digest, primary, world
from tests.support.signers import PEOPLE

TWO = Policy("eyes", (Approvals(2, proof=Proof.SIGNED),))
GLASS = Policy("stop", (), override=BreakGlass(("grace",), frozenset(), Proof.SIGNED, frozenset(["grace"])))
PROMOTION = primary(2).changed_by.commit
BEFORE = "b" * 40
YES = Statement("1" * 40, NOW, str(APP), digest(2), main="d" * 40, content="a" * 64)
NO_FILE = "main has no policies/allowed_signers"


@dataclass
class Fake:
    """A repository: files by commit (empty: any), who signed which commit by which file, and the branch."""

    branch: tuple[Statement, ...] = ()
    signed: Mapping[str, str] = field(default_factory=dict)
    """Commit to principal; a principal counts by a file that has it."""
    signers: bytes | None = b"grace bob"
    signers_before: bytes | None = b"grace bob"
    people_before: str = PEOPLE
    elsewhere: frozenset[str] = frozenset()
    withdrawn: set[str] = field(default_factory=set)
    broken: Exception | None = None
    asked: int = 0
    by: str = "grace@example.com"
    """The committer of every commit."""

    def commit_facts(self, commits: Iterable[str]) -> Mapping[str, CommitFacts]:
        return {commit: CommitFacts(commit, committer=Person("Somebody", self.by)) for commit in commits}

    def around(self, commit: str, paths: tuple[str, ...]) -> Around:
        return Around(BEFORE, (), ())

    def text_file(self, path: str, commit: str) -> bytes | None:
        then = commit == BEFORE
        if path.endswith("people.yaml"):
            return (self.people_before if then else PEOPLE).encode()
        return self.signers_before if then else self.signers

    def signatures(self, commits: Iterable[str], signers: bytes) -> Mapping[str, Signature]:
        self.asked += 1
        if self.broken:
            raise self.broken
        return {commit: self._signature(commit, signers.decode().split()) for commit in commits}

    def _signature(self, commit: str, signers: list[str]) -> Signature:
        principal = self.signed.get(commit, "")
        return Signature(principal) if principal in signers else Signature(why_not="it is not signed")

    def approvals(self, app: Any) -> tuple[Statement, ...]:
        return self.branch

    def contains(self, commit: str) -> bool:
        return commit not in self.elsewhere

    def withdrawn_approvals(self) -> frozenset[str]:
        return frozenset(self.withdrawn)

    def remember_withdrawn(self, approval: str, by: str) -> None:
        self.withdrawn.add(approval)


WAITING = world(active(1), candidate(2), names_=2)
OFFERED = world(active(1), candidate(2))


def told(fake: Fake, *policies: Policy, state: World = WAITING, **more: Any) -> Policing:
    facts = SignedFacts(fake)  # type: ignore[arg-type]
    return facts.added(Policing(policies or (TWO,), **more), APP, state.desired, state.record)


def counted(fake: Fake, state: World = WAITING) -> list[tuple[str, str]]:
    return [(each.by, each.void) for each in told(fake, state=state).approvals or ()]


SIGNED = {YES.commit: "grace"}


@pytest.mark.parametrize("state", [WAITING, OFFERED])
def test_an_approval_counts_for_whose_key_signed_it(state: World) -> None:
    approvals = told(Fake((YES,), SIGNED), state=state).approvals
    assert approvals == (Approval("grace", digest(2), NOW, Proof.SIGNED, frozenset(["leads", "incident"])),)


def test_what_no_policy_asks_for_is_not_looked_at() -> None:
    fake = Fake((YES,), SIGNED)
    assert told(fake, Policy("calm")).approvals is None
    assert fake.asked == 0


def test_those_of_the_forge_stay() -> None:
    forge = Approval("bob", digest(2), NOW)
    assert [each.by for each in told(Fake((YES,), SIGNED), approvals=(forge,)).approvals or ()] == ["bob", "grace"]


ATTACKS: dict[str, tuple[Fake, str]] = {
    "a key that is not allowed": (Fake((YES,), {YES.commit: "mallory"}), "it is not signed"),
    "a key added in the same merge": (Fake((YES,), SIGNED, signers_before=b"bob"), "it is not signed"),
    "the first file of signers comes in the same merge": (Fake((YES,), SIGNED, signers_before=None), NO_FILE),
    "a key that was taken away since": (Fake((YES,), SIGNED, signers=b"bob"), "it is not signed"),
    "a name that is nobody's": (
        Fake((YES,), {YES.commit: "eve"}, signers=b"eve", signers_before=b"eve"),
        "eve is among the signers of nobody, or of several, in policies/people.yaml",
    ),
    "a name that was somebody else's before the merge": (
        Fake((YES,), SIGNED, people_before=PEOPLE.replace("name: grace", "name: mallory")),
        "its key was that of another person before (mallory)",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_signature_that_does_not_count_says_why(name: str) -> None:
    fake, why = ATTACKS[name]
    assert counted(fake) == [("commit 1111111111", f"approval 1111111111 does not count: {why}")]


def test_a_copy_for_another_app_or_of_another_version_is_no_approval_of_this_one() -> None:
    other_app, other_version = replace(YES, app="shop/api"), replace(YES, digest=digest(9))
    assert counted(Fake((other_app, other_version), SIGNED)) == []


def test_an_approval_from_another_repository_says_so() -> None:
    fake = Fake((YES,), SIGNED, elsewhere=frozenset([YES.main]))
    assert counted(fake) == [("grace", "the approval of grace was given in another repository")]


BACK = Statement("2" * 40, NOW, str(APP), withdraws=YES.commit)


def test_who_takes_an_approval_back_is_heard_and_stays_heard_when_the_branch_moves_back() -> None:
    fake = Fake((BACK, YES), {**SIGNED, BACK.commit: "grace"})
    gone = [("grace", "grace took the approval back")]
    assert counted(fake) == gone
    fake.branch = (YES,)
    assert counted(fake) == gone
    again = replace(YES, commit="7" * 40)
    fake.branch, fake.signed = (again,), {again.commit: "grace"}
    assert counted(fake) == gone, "the same approval under another id"


@pytest.mark.parametrize("by", ["bob", "mallory", ""])
def test_nobody_takes_back_what_somebody_else_approved(by: str) -> None:
    assert counted(Fake((BACK, YES), {**SIGNED, BACK.commit: by})) == [("grace", "")]


def test_groups_are_those_of_then_and_of_now() -> None:
    fake = Fake((YES,), SIGNED, people_before=PEOPLE.replace("leads, incident", "incident"))
    (approval,) = told(fake).approvals or ()
    assert approval.groups == {"incident"}


def test_a_branch_full_of_noise_is_told_of_in_three_lines() -> None:
    noise = tuple(replace(YES, commit=f"{number:040d}") for number in range(20))
    assert len(counted(Fake((*noise, YES), SIGNED))) == 4


def test_without_signers_nobody_can_approve_so_and_the_forge_is_left_to_tell() -> None:
    assert told(Fake((YES,), SIGNED, signers=None)).approvals is None


def test_where_nobody_can_check_signatures_it_says_so() -> None:
    why = "ssh-keygen is not on this machine"
    policing = told(Fake((YES,), SIGNED, broken=NoSshKeygen(why)), unheard="the forge is down")
    assert (policing.approvals, policing.unheard) == (None, f"the forge is down; {why}")
    assert policing.may_be_more


@pytest.mark.parametrize("heard", [True, False])
def test_what_was_signed_does_not_stand_for_what_the_forge_did_not_say_yet(heard: bool) -> None:
    policing = told(Fake((YES,), SIGNED), approvals=() if heard else None, may_be_more=not heard)
    assert [each.by for each in policing.approvals or ()] == ["grace"]
    assert policing.may_be_more is not heard


def test_a_commit_without_a_date_is_no_approval() -> None:
    assert counted(Fake((replace(YES, at=None),), SIGNED)) == []


@pytest.mark.parametrize(
    ("authors", "by", "told_of"),
    [
        (frozenset(["ada"]), "grace@example.com", frozenset(["ada"])),
        (frozenset(["grace"]), "elsewhere@example.com", frozenset(["grace"])),
        (frozenset(["Somebody <e@x.com>"]), "e@x.com", frozenset(["Somebody <e@x.com>", "grace"])),
        (frozenset(["bob"]), "bob@example.com", frozenset(["bob", "grace"])),
        (None, "grace@example.com", None),
    ],
)
def test_who_approves_by_a_commit_of_an_author_is_one(
    authors: frozenset[str] | None, by: str, told_of: frozenset[str] | None
) -> None:
    """Under an address that people.yaml does not have, Grace writes a change and signs her approval of it."""
    assert told(Fake((YES,), SIGNED, by=by), authors=authors).authors == told_of


def test_a_bot_approves_nothing() -> None:
    fake = Fake((YES,), SIGNED, people_before=PEOPLE.replace("{name: grace,", "{name: grace, bot: true,"))
    ((_, void),) = counted(fake)
    assert void.endswith("grace is a bot, and approvals are people's")


GO = CommitFacts(PROMOTION, at=NOW, trailers=(("Bg-Override", "stop"), ("Bg-Reason", "INC-1")))


@pytest.mark.parametrize(
    ("fake", "signed"),
    [
        (Fake(signed={PROMOTION: "grace"}), SignedBy("grace")),
        (Fake(), SignedBy(why_not="it is not signed")),
        (Fake(signed={PROMOTION: "grace"}, signers_before=b"bob"), SignedBy(why_not="it is not signed")),
        (Fake(signers=None), SignedBy(why_not=NO_FILE)),
    ],
)
def test_a_promotion_that_breaks_the_glass_is_told_with_who_signed_it(fake: Fake, signed: SignedBy) -> None:
    (commit,) = told(fake, GLASS, commits=(GO,)).commits
    assert commit.signed == signed


def test_a_promotion_that_has_been_counts_by_the_signers_before_it() -> None:
    facts = SignedFacts(Fake(signed={PROMOTION: "grace"}, signers=None))  # type: ignore[arg-type]
    assert facts.signed_before(GO).signed == SignedBy("grace")
    assert facts.signed_before(replace(GO, trailers=())).signed is None
    none = SignedFacts(Fake(signed={PROMOTION: "grace"}, signers_before=None))  # type: ignore[arg-type]
    assert none.signed_before(GO).signed == SignedBy(why_not=NO_FILE)


@pytest.mark.parametrize(
    ("commit", "policy"),
    [
        (replace(GO, trailers=()), GLASS),
        (replace(GO, commit="9" * 40), GLASS),
        (GO, replace(GLASS, override=BreakGlass(("grace",)))),
    ],
)
def test_the_signature_of_no_other_commit_is_looked_at(commit: CommitFacts, policy: Policy) -> None:
    fake = Fake(signed={PROMOTION: "grace"})
    assert told(fake, policy, commits=(commit,)).commits == (commit,)
    assert fake.asked == 0


def test_the_key_that_ends_first_counts() -> None:
    ends = datetime(2026, 4, 1, tzinfo=UTC)

    class Ending(Fake):
        def _signature(self, commit: str, signers: list[str]) -> Signature:
            return Signature("grace", expires=ends if "early" in signers else None)

    fake = Ending((YES,), SIGNED, signers_before=b"early")
    (approval,) = told(fake).approvals or ()
    assert approval.expires == ends

"""Who signed a promotion, as policies are told: by the signers of then and of now.

The repository is a fake that answers as the real one does (tests/integration/repo/verification/test_signatures.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_bg.agent.desired.policy_inputs import SignedFacts
from gitops_bg.core.model.policy_facts import CommitFacts, PolicyInput, SignedBy
from gitops_bg.core.model.policy_rules import BreakGlass, Policy, Proof
from gitops_bg.repo.read.commits import Around
from gitops_bg.repo.read.signatures import Keys, NoSshKeygen, Signature
from tests.core.worlds import NOW, primary
from tests.support.signers import PEOPLE

GLASS = Policy("stop", (), override=BreakGlass(("grace",), frozenset(), Proof.SIGNED, frozenset(["grace"])))
PROMOTION = primary(2).changed_by.commit
BEFORE = "b" * 40
NO_FILE = "main has no policies/allowed_signers"


@dataclass
class Fake:
    """A repository: files by commit, and who signed which commit by which file."""

    signed: Mapping[str, str] = field(default_factory=dict)
    """Commit to principal; a principal counts by a file that has it."""
    signers: bytes | None = b"grace bob"
    signers_before: bytes | None = b"grace bob"
    people_before: str = PEOPLE
    broken: Exception | None = None
    asked: int = 0

    def around(self, commit: str, paths: tuple[str, ...]) -> Around:
        return Around(BEFORE, (), ())

    def text_file(self, path: str, commit: str) -> bytes | None:
        then = commit == BEFORE
        if path.endswith("people.yaml"):
            return (self.people_before if then else PEOPLE).encode()
        return self.signers_before if then else self.signers

    @property
    def signatures(self) -> Fake:
        return self

    def of(self, commits: Iterable[str], keys: Keys) -> Mapping[str, Signature]:
        self.asked += 1
        if self.broken:
            raise self.broken
        return {commit: self._signature(commit, keys.signers.decode().split()) for commit in commits}

    def _signature(self, commit: str, signers: list[str]) -> Signature:
        principal = self.signed.get(commit, "")
        return Signature(principal) if principal in signers else Signature(why_not="it is not signed")


def told(fake: Fake, *policies: Policy, **more: Any) -> PolicyInput:
    facts = SignedFacts(fake)  # type: ignore[arg-type]
    return facts.with_overrides(PolicyInput(policies, **more), "c" * 40, PROMOTION)


SIGNED = {PROMOTION: "grace"}


ATTACKS: dict[str, tuple[Fake, str]] = {
    "a key that is not allowed": (Fake({PROMOTION: "mallory"}), "it is not signed"),
    "a key added in the same merge": (Fake(SIGNED, signers_before=b"bob"), "it is not signed"),
    "the first file of signers comes in the same merge": (Fake(SIGNED, signers_before=None), NO_FILE),
    "a key that was taken away since": (Fake(SIGNED, signers=b"bob"), "it is not signed"),
    "a name that is nobody's": (
        Fake({PROMOTION: "eve"}, signers=b"eve", signers_before=b"eve"),
        "eve is among the signers of nobody, or of several, in policies/people.yaml",
    ),
    "a name that was somebody else's before the merge": (
        Fake(SIGNED, people_before=PEOPLE.replace("name: grace", "name: mallory")),
        "its key was that of another person before (mallory)",
    ),
    "a bot": (
        Fake(SIGNED, people_before=PEOPLE.replace("{name: grace,", "{name: grace, bot: true,")),
        "grace is a bot, and overrides are people's",
    ),
}


GO = CommitFacts(PROMOTION, at=NOW, trailers=(("Bg-Override", "stop"), ("Bg-Reason", "INC-1")))


@pytest.mark.parametrize("name", ATTACKS)
def test_a_signature_that_does_not_count_says_why(name: str) -> None:
    fake, why = ATTACKS[name]
    (commit,) = told(fake, GLASS, commits=(GO,)).commits
    assert commit.signed == SignedBy(why_not=why)


def test_where_nobody_can_check_signatures_it_says_so() -> None:
    why = "ssh-keygen is not on this machine"
    policing = told(Fake(SIGNED, broken=NoSshKeygen(why)), GLASS, commits=(GO,), unheard="the forge is down")
    assert policing.unheard == f"the forge is down; {why}"


def test_what_no_policy_asks_for_is_not_looked_at() -> None:
    fake = Fake(SIGNED)
    assert told(fake, Policy("calm"), commits=(GO,)).commits == (GO,)
    assert fake.asked == 0


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

    (commit,) = told(Ending(SIGNED, signers_before=b"early"), GLASS, commits=(GO,)).commits
    assert commit.signed == SignedBy("grace", expires=ends)

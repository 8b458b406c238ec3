"""What an app says of main's signatures: nothing without keys, else which commit is not verified, and what is to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.checks.git.unverified import away, held_since
from gitops_bg.core.model.git.verification import Doubt, SourceVerification, UnverifiedCommit
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.status.alike.source_verified import source_verified
from gitops_bg.core.status.conditions import conditions_of
from tests.core.worlds import HELD_MAIN, active, world

HELD = UnverifiedCommit("1a2b3c4d5e" + 30 * "0", "Ada", Doubt.NOT_SIGNED, last="9f8e7d6c5b" + 30 * "0")
TROUBLE = "--verify-signers: /keys/signers: no such file; the keys that were read last still count"
NOT_SIGNED = (
    "commit 1a2b3c4d5e by Ada is not signed: main is read up to 9f8e7d6c5b; sign it with a listed key "
    "(git commit --amend -S) and push main again, or merge it onto 9f8e7d6c5b by a signed merge (git merge --no-ff -S)"
)
BY_SIGNING = (
    "sign it with a listed key (git commit --amend -S) and push main again, "
    "or merge it onto 9f8e7d6c5b by a signed merge (git merge --no-ff -S)"
)
UP_TO = "main is read up to 9f8e7d6c5b"
FROM_THE_START = "nothing of main is read; push a commit on top that is signed with a listed key (git commit -S)"

SAID = {
    "not signed": (SourceVerification(HELD), (False, "NotSigned", NOT_SIGNED)),
    "a key that nobody listed": (
        SourceVerification(replace(HELD, doubt=Doubt.UNKNOWN_KEY, key="SHA256:abc")),
        (
            False,
            "UnknownKey",
            f"commit 1a2b3c4d5e by Ada is signed by a key that is not listed (SHA256:abc): {UP_TO}; "
            f"add the key to the agent's --verify-signers or --verify-gpg-keys, or {BY_SIGNING}",
        ),
    ),
    "a forged signature": (
        SourceVerification(replace(HELD, doubt=Doubt.INVALID)),
        (
            False,
            "InvalidSignature",
            "commit 1a2b3c4d5e by Ada has a signature that does not hold, or by a key for another purpose: "
            f"{UP_TO}; {BY_SIGNING}",
        ),
    ),
    "a key whose time is over": (
        SourceVerification(replace(HELD, doubt=Doubt.KEY_NOT_VALID, key="SHA256:abc")),
        (
            False,
            "KeyNotValid",
            "commit 1a2b3c4d5e by Ada is signed by a listed key that is not valid: it has expired, was revoked, "
            f"or begins later (SHA256:abc): {UP_TO}; {BY_SIGNING}",
        ),
    ),
    "a form that nobody checks": (
        SourceVerification(replace(HELD, doubt=Doubt.NOT_CHECKABLE, author="")),
        (
            False,
            "NotCheckable",
            "commit 1a2b3c4d5e has a signature that is not checked: neither SSH nor OpenPGP, by a certificate, "
            f"or too large: {UP_TO}; {BY_SIGNING}",
        ),
    ),
    "more than can be checked at once": (
        SourceVerification(replace(HELD, doubt=Doubt.PENDING)),
        (
            False,
            "NotCheckedYet",
            f"commit 1a2b3c4d5e by Ada and others wait to be checked: {UP_TO}; it goes on by itself",
        ),
    ),
    "another history": (
        SourceVerification(replace(HELD, doubt=Doubt.OTHER_HISTORY, last="", missing=HELD.last)),
        (
            False,
            "OtherHistory",
            "commit 1a2b3c4d5e by Ada has a history without what was verified before: nothing of main is read; push "
            "main as it was, or merge it onto 9f8e7d6c5b by a signed merge (git merge --no-ff -S)",
        ),
    ),
    "records that cannot be read": (
        SourceVerification(replace(HELD, doubt=Doubt.RECORDS_UNKNOWN, last="")),
        (
            False,
            "RecordsUnknown",
            "commit 1a2b3c4d5e by Ada waits until the record of every app can be read, which says what was verified "
            "before: nothing of main is read; it goes on by itself",
        ),
    ),
    "nothing was ever verified": (
        SourceVerification(replace(HELD, last="")),
        (False, "NotSigned", f"commit 1a2b3c4d5e by Ada is not signed: {FROM_THE_START}"),
    ),
    "nothing was ever verified, and nobody listed the key": (
        SourceVerification(replace(HELD, doubt=Doubt.UNKNOWN_KEY, last="")),
        (
            False,
            "UnknownKey",
            "commit 1a2b3c4d5e by Ada is signed by a key that is not listed: nothing of main is read; add the key to "
            "the agent's --verify-signers or --verify-gpg-keys, or push a commit on top that is signed with a listed "
            "key (git commit -S)",
        ),
    ),
    "what an agent said": (
        SourceVerification(UnverifiedCommit("", "", Doubt.INVALID, said="the agent's words")),
        (False, "InvalidSignature", "the agent's words"),
    ),
    "held, and the keys are broken": (
        SourceVerification(HELD, TROUBLE),
        (False, "NotSigned", f"{NOT_SIGNED}; {TROUBLE}"),
    ),
    "the keys are broken": (SourceVerification(keys_trouble=TROUBLE), (True, "KeysUnreadable", TROUBLE)),
    "all is well": (
        SourceVerification(),
        (True, "Verified", "each commit that main got is signed by a listed key"),
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_the_condition_says(name: str) -> None:
    verification, said = SAID[name]
    (found,) = source_verified(verification)
    assert (found.type, found.status, found.reason, found.message) == ("SourceVerified", *said)


def test_every_doubt_has_words() -> None:
    said = {verification.held.doubt for verification, _ in SAID.values() if verification.held}
    assert said == set(Doubt)


def test_without_keys_there_is_no_such_condition() -> None:
    assert source_verified(None) == ()
    assert "SourceVerified" not in [one.type for one in conditions_of(world(active(1)))]


@pytest.mark.parametrize(
    ("git", "held", "gone"),
    [
        (GitView(), "", ""),
        (GitView(verification=SourceVerification()), "", ""),
        (GitView(unreachable="refused"), "", "refused"),
        (GitView(unreachable="refused", verification=HELD_MAIN), "1a2b3c4d5e", "refused"),
        (GitView(verification=HELD_MAIN), "1a2b3c4d5e", "1a2b3c4d5e"),
    ],
)
def test_whether_git_can_change_anything(git: GitView, held: str, gone: str) -> None:
    assert (held in held_since(git), bool(held_since(git))) == (True, bool(held))
    assert (gone in away(git), bool(away(git))) == (True, bool(gone))


def test_a_main_that_is_not_verified_is_no_trouble_with_the_remote() -> None:
    found = {
        one.type: one for one in conditions_of(world(active(1), observed={"git": GitView(verification=HELD_MAIN)}))
    }
    assert (found["GitReachable"].status, found["SourceVerified"].status) == (True, False)

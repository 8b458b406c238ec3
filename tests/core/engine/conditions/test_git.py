"""What an app says of main's signatures and of the pull request of its promotion branch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.main import SourceVerification, UnverifiedCommit, VerificationFailure
from gitops_bg.core.model.observed import GitView
from tests.core.shown import ABSENT, Shown
from tests.core.worlds import active, candidate, conditions, world


def said(kind: str, git: GitView) -> Shown:
    """What the condition of this kind says of an app with a candidate."""
    return conditions(world(active(1), candidate(2), observed={"git": git}))[kind]


HELD = UnverifiedCommit("1a2b3c4d5e" + 30 * "0", "Ada", VerificationFailure.NOT_SIGNED, last="9f8e7d6c5b" + 30 * "0")
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
        SourceVerification(replace(HELD, doubt=VerificationFailure.UNKNOWN_KEY, key="SHA256:abc")),
        (
            False,
            "UnknownKey",
            f"commit 1a2b3c4d5e by Ada is signed by a key that is not listed (SHA256:abc): {UP_TO}; "
            f"add the key to the agent's --verify-signers or --verify-gpg-keys, or {BY_SIGNING}",
        ),
    ),
    "a forged signature": (
        SourceVerification(replace(HELD, doubt=VerificationFailure.INVALID)),
        (
            False,
            "InvalidSignature",
            "commit 1a2b3c4d5e by Ada has a signature that does not hold, or by a key for another purpose: "
            f"{UP_TO}; {BY_SIGNING}",
        ),
    ),
    "a key whose time is over": (
        SourceVerification(replace(HELD, doubt=VerificationFailure.KEY_NOT_VALID, key="SHA256:abc")),
        (
            False,
            "KeyNotValid",
            "commit 1a2b3c4d5e by Ada is signed by a listed key that is not valid: it has expired, was revoked, "
            f"or begins later (SHA256:abc): {UP_TO}; {BY_SIGNING}",
        ),
    ),
    "a form that nobody checks": (
        SourceVerification(replace(HELD, doubt=VerificationFailure.NOT_CHECKABLE, author="")),
        (
            False,
            "NotCheckable",
            "commit 1a2b3c4d5e has a signature that is not checked: neither SSH nor OpenPGP, by a certificate, "
            f"or too large: {UP_TO}; {BY_SIGNING}",
        ),
    ),
    "more than can be checked at once": (
        SourceVerification(replace(HELD, doubt=VerificationFailure.PENDING)),
        (
            False,
            "NotCheckedYet",
            f"commit 1a2b3c4d5e by Ada and others wait to be checked: {UP_TO}; it goes on by itself",
        ),
    ),
    "another history": (
        SourceVerification(replace(HELD, doubt=VerificationFailure.OTHER_HISTORY, last="", missing=HELD.last)),
        (
            False,
            "OtherHistory",
            "commit 1a2b3c4d5e by Ada has a history without what was verified before: nothing of main is read; push "
            "main as it was, or merge it onto 9f8e7d6c5b by a signed merge (git merge --no-ff -S)",
        ),
    ),
    "records that cannot be read": (
        SourceVerification(replace(HELD, doubt=VerificationFailure.RECORDS_UNKNOWN, last="")),
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
        SourceVerification(replace(HELD, doubt=VerificationFailure.UNKNOWN_KEY, last="")),
        (
            False,
            "UnknownKey",
            "commit 1a2b3c4d5e by Ada is signed by a key that is not listed: nothing of main is read; add the key to "
            "the agent's --verify-signers or --verify-gpg-keys, or push a commit on top that is signed with a listed "
            "key (git commit -S)",
        ),
    ),
    "what an agent said": (
        SourceVerification(UnverifiedCommit("", "", VerificationFailure.INVALID, said="the agent's words")),
        (False, "InvalidSignature", "the agent's words"),
    ),
    "held, and the keys are broken": (
        SourceVerification(HELD, TROUBLE),
        (False, "NotSigned", f"{NOT_SIGNED}; {TROUBLE}"),
    ),
    "the keys are broken": (SourceVerification(keys_trouble=TROUBLE), (True, "KeysUnreadable", TROUBLE)),
    "all is well": (SourceVerification(), ABSENT),
    "no keys are given": (None, ABSENT),
}


@pytest.mark.parametrize("name", SAID)
def test_source_verified_says(name: str) -> None:
    verification, expected = SAID[name]
    git = GitView(verification=verification)
    assert said("SourceVerified", git) == expected
    assert said("GitReachable", git) == ABSENT, "the remote answers"


def test_every_doubt_has_words() -> None:
    assert {verification.held.doubt for verification, _ in SAID.values() if verification and verification.held} == set(
        VerificationFailure
    )


URL = "https://forge.example/shop/pulls/7"
PULL_REQUESTS = {
    "no forge is known": (GitView(), ABSENT),
    "it is open": (GitView(pull=PullRequest(7, URL)), (True, "Open", f"#7 {URL} is open")),
    "people marked it as a draft": (
        GitView(pull=PullRequest(7, URL, draft=True)),
        (True, "Open", f"#7 {URL} is open, marked as a draft by people"),
    ),
    "it has no address": (GitView(pull=PullRequest(7)), (True, "Open", "#7 is open")),
    "it was merged": (GitView(pull=PullRequest(7, URL, PullState.MERGED)), ABSENT),
    "somebody closed it": (
        GitView(pull=PullRequest(7, URL, PullState.CLOSED, closed_by="ada")),
        (False, "Closed", f"#7 {URL} was closed by ada"),
    ),
    "nobody says who closed it": (
        GitView(pull=PullRequest(7, URL, PullState.CLOSED)),
        (False, "Closed", f"#7 {URL} was closed"),
    ),
    "others are before it": (GitView(pull_queued="place 2"), (False, "Queued", "place 2")),
    "the forge cannot be asked": (
        GitView(pull=PullRequest(7, URL), pull_queued="place 2", pull_trouble="refused"),
        (None, "Trouble", "refused"),
    ),
}


@pytest.mark.parametrize("name", PULL_REQUESTS)
def test_pull_request_says(name: str) -> None:
    git, expected = PULL_REQUESTS[name]
    assert said("PullRequest", git) == expected

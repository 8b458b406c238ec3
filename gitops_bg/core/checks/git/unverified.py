"""What a commit that is not verified means, and what makes main count again: one sentence for status, log and errors.

Nobody but the operators of the agent says which keys count, so no remedy here is a change of the repository's files.
"""

from typing import Protocol

from gitops_bg.core.model.git.main import SourceVerification, UnverifiedCommit, VerificationFailure


class SeesMain(Protocol):
    """What was seen of main, for an app or a release group."""

    @property
    def unreachable(self) -> str:
        """Why it cannot be read; empty where it can."""
        ...

    @property
    def verification(self) -> SourceVerification | None:
        """What became of its commits, where they are verified."""
        ...


_WHY = {
    VerificationFailure.NOT_SIGNED: "is not signed",
    VerificationFailure.UNKNOWN_KEY: "is signed by a key that is not listed",
    VerificationFailure.INVALID: "has a signature that does not hold, or by a key for another purpose",
    VerificationFailure.KEY_NOT_VALID: "is signed by a listed key that is not valid: it has expired, was revoked, or begins later",
    VerificationFailure.OTHER_HISTORY: "has a history without what was verified before",
    VerificationFailure.NOT_CHECKABLE: "has a signature that is not checked: neither SSH nor OpenPGP, by a certificate, or too large",
}
_WAITS = {
    VerificationFailure.PENDING: "and others wait to be checked",
    VerificationFailure.RECORDS_UNKNOWN: "waits until the record of every app can be read, which says what was verified before",
}
_LISTED = "--verify-signers or --verify-gpg-keys"


def held_since(git: SeesMain) -> str:
    """Why the newest main is not read although the remote answers; empty where it is."""
    held = git.verification.held if git.verification else None
    return describe(held) if held else ""


def away(git: SeesMain) -> str:
    """Why nobody can change anything by Git now: the remote does not answer, or the newest main is not read."""
    return git.unreachable or held_since(git)


def describe(held: UnverifiedCommit) -> str:
    """What is not verified, what counts instead, and what would be right."""
    if held.said:
        return held.said
    if held.doubt in _WAITS:
        return f"commit {_named(held)} {_WAITS[held.doubt]}: {_read(held)}; it goes on by itself"
    key = f" ({held.key})" if held.key else ""
    return f"commit {_named(held)} {_WHY[held.doubt]}{key}: {_read(held)}; {_remedy(held)}"


def _named(held: UnverifiedCommit) -> str:
    return f"{held.commit[:10]} by {held.author}" if held.author else held.commit[:10]


def _read(held: UnverifiedCommit) -> str:
    return f"main is read up to {held.last[:10]}" if held.last else "nothing of main is read"


def _remedy(held: UnverifiedCommit) -> str:
    if held.missing:
        return f"push main as it was, or merge it onto {held.missing[:10]} by a signed merge (git merge --no-ff -S)"
    add = f"add the key to the agent's {_LISTED}, or " if held.doubt is VerificationFailure.UNKNOWN_KEY else ""
    if not held.last:
        return f"{add}push a commit on top that is signed with a listed key (git commit -S)"
    vouch = f"merge it onto {held.last[:10]} by a signed merge (git merge --no-ff -S)"
    return f"{add}sign it with a listed key (git commit --amend -S) and push main again, or {vouch}"

"""Whether main's commits are signed by the keys that an agent was given. Pure data."""

from dataclasses import dataclass
from enum import StrEnum


class Doubt(StrEnum):
    """Why a commit is not verified: what is wrong with it is the reason of the condition SourceVerified."""

    NOT_SIGNED = "NotSigned"
    UNKNOWN_KEY = "UnknownKey"
    INVALID = "InvalidSignature"
    KEY_NOT_VALID = "KeyNotValid"
    """The key is listed, but had expired, or was revoked."""
    NOT_CHECKABLE = "NotCheckable"
    """In a form that nobody can check here: X.509, a certificate, too large, or not as git writes commits."""
    OTHER_HISTORY = "OtherHistory"
    """Its history may be another one: what was verified before is not in it, nor anywhere else."""
    RECORDS_UNKNOWN = "Records"
    """What was verified before is not known yet: the records of live traffic cannot all be read."""
    PENDING = "Pending"
    """So many commits are new that some are left for the next looks."""


@dataclass(frozen=True, slots=True)
class UnverifiedCommit:
    """The oldest commit of main's line that is not verified. It, and all after it, are not read."""

    commit: str
    author: str
    doubt: Doubt
    key: str = ""
    """The fingerprint of the key that signed it, as far as that is known."""
    last: str = ""
    """The commit up to which main is read; empty where nothing of it is."""
    missing: str = ""
    """What was verified before, where the mirror lacks it."""
    said: str = ""
    """The sentence of an agent about it, for others, who know nothing more; empty for the agent itself."""


@dataclass(frozen=True, slots=True)
class SourceVerification:
    """What became of the last look at main, where commits are verified."""

    held: UnverifiedCommit | None = None
    keys_trouble: str = ""
    """Why the present files of keys cannot be used, so that those read before still count; empty where they can."""

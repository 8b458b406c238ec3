"""Errors of a forge, each with who must do what. Permanent ones are `Refused`, passing ones `Transient`.

The agent distinguishes them by those two (`core.errors`): it repeats refused requests slowly, passing errors with
backoff, and `RateLimited` not before its ``until``. None of them stops a promotion: Git carries it (decision 31).
"""

from datetime import datetime

from gitops_bg.core.errors import Refused, Transient, WorldChanged


class TokenRefused(Refused):
    """401: the token is wrong, has expired or was revoked."""

    reason = "ForgeTokenRefused"

    def __init__(self, place: str, words: str = "") -> None:
        super().__init__(
            f"{place} refused the token{_said(words)}. Put a valid one into the token file (of a GitHub App: check its "
            "id and key); the file is read again with the next request"
        )


class NoRight(Refused):
    """403: the token is valid, but lacks a right."""

    reason = "ForgeNoRight"

    def __init__(self, place: str, doing: str, words: str = "") -> None:
        super().__init__(
            f"{place}: the token may not {doing}{_said(words)}. "
            "Give its user the right; docs/features/pull-requests.md lists what each forge needs"
        )


class NotFound(Refused):
    """404: no such repository or pull request, or (forges answer the same then) no right to see it."""

    reason = "ForgeNotFound"

    def __init__(self, place: str, doing: str, words: str = "") -> None:
        super().__init__(
            f"{place}: not found, while trying to {doing}{_said(words)}. "
            "Check the repository in forge.url, and that the token's user may see it"
        )


class NotAccepted(Refused):
    """400, 409, 422 and similar: the forge understood the request and refuses it."""

    reason = "ForgeNotAccepted"

    def __init__(self, place: str, doing: str, words: str) -> None:
        super().__init__(f"{place} did not {doing}{_said(words)}")


class MergeRefused(Refused):
    """It must not be merged now: protection, checks, approvals, a merge queue. ``words`` is the forge's message."""

    reason = "ForgeMergeRefused"

    def __init__(self, place: str, number: int, words: str) -> None:
        super().__init__(f"{place} does not merge pull request {number}{_said(words)}")
        self.words = words


class HeadMoved(WorldChanged):
    """The pull request changed before the merge: it has another head, or another base."""

    reason = "ForgeHeadMoved"

    def __init__(self, place: str, number: int, head: str, words: str = "") -> None:
        super().__init__(
            f"{place}: pull request {number} moved on from {head[:10]}{_said(words)}. It is looked at again, at once"
        )


class StillChecking(Transient):
    """The forge does not know yet whether it can be merged, because head or base is new."""

    reason = "ForgeStillChecking"

    def __init__(self, place: str, number: int) -> None:
        super().__init__(f"{place} is still checking whether pull request {number} can be merged; it is asked again")


class RateLimited(Transient):
    """403 or 429 because of a limit. Nothing is requested before ``until``, which is always a time."""

    reason = "ForgeRateLimited"

    def __init__(self, place: str, until: datetime, retry_after: float) -> None:
        super().__init__(
            f"{place} limits our requests; the next one goes out at {until:%Y-%m-%d %H:%M:%S} UTC. Promotions go on",
            retry_after,
        )
        self.until = until


class ForgeDown(Transient):
    """No connection, no answer in time, or 5xx. It is unknown whether a write succeeded."""

    reason = "ForgeDown"


class Nonsense(Transient):
    """An answer that forges do not give: a page of a proxy, or an undocumented shape."""

    reason = "ForgeNonsense"

    def __init__(self, place: str, what: str) -> None:
        super().__init__(f"{place} answered what makes no sense: {what}. Check forge.url, and what stands in between")


def _said(words: str) -> str:
    return f": {words}" if words else ""

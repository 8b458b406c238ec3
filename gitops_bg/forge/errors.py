"""What can go wrong with a forge, each with who must do what. Permanent ones are `Refused`, passing ones `Transient`.

The agent tells them apart by those two (`core.errors`): what is refused is asked again slowly, what passes with
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
    """403: the token is good, and may not do this."""

    reason = "ForgeNoRight"

    def __init__(self, place: str, doing: str, words: str = "") -> None:
        super().__init__(
            f"{place}: the token may not {doing}{_said(words)}. "
            "Give its user the right; docs/pull-requests.md lists what each forge needs"
        )


class NotFound(Refused):
    """404: no such repository or pull request, or (forges say the same then) no right to see it."""

    reason = "ForgeNotFound"

    def __init__(self, place: str, doing: str, words: str = "") -> None:
        super().__init__(
            f"{place}: not found, while trying to {doing}{_said(words)}. "
            "Check the repository in forge.url, and that the token's user may see it"
        )


class NotAccepted(Refused):
    """400, 409, 422 and their like: the forge understood, and does not take it."""

    reason = "ForgeNotAccepted"

    def __init__(self, place: str, doing: str, words: str) -> None:
        super().__init__(f"{place} did not {doing}{_said(words)}")


class MergeRefused(Refused):
    """It may not be merged now: protection, checks, approvals, a merge queue. ``words`` are the forge's own."""

    reason = "ForgeMergeRefused"

    def __init__(self, place: str, number: int, words: str) -> None:
        super().__init__(f"{place} does not merge pull request {number}{_said(words)}")
        self.words = words


class HeadMoved(WorldChanged):
    """The pull request is no longer what was to be merged: another head, or another base beneath it."""

    reason = "ForgeHeadMoved"

    def __init__(self, place: str, number: int, head: str, words: str = "") -> None:
        super().__init__(
            f"{place}: pull request {number} moved on from {head[:10]}{_said(words)}. It is looked at again, at once"
        )


class StillChecking(Transient):
    """The forge does not know yet whether it can be merged: the head or the base is new to it."""

    reason = "ForgeStillChecking"

    def __init__(self, place: str, number: int) -> None:
        super().__init__(f"{place} is still checking whether pull request {number} can be merged; it is asked again")


class RateLimited(Transient):
    """403 or 429 with a limit behind it. Nothing more is asked before ``until``, which is always a time."""

    reason = "ForgeRateLimited"

    def __init__(self, place: str, until: datetime, retry_after: float) -> None:
        super().__init__(
            f"{place} limits our requests; the next one goes out at {until:%Y-%m-%d %H:%M:%S} UTC. Promotions go on",
            retry_after,
        )
        self.until = until


class ForgeDown(Transient):
    """No connection, no answer in time, or 5xx. Whether a write came through is unknown."""

    reason = "ForgeDown"


class Nonsense(Transient):
    """An answer that no forge gives: a page of a proxy, another shape than the documented one."""

    reason = "ForgeNonsense"

    def __init__(self, place: str, what: str) -> None:
        super().__init__(f"{place} answered what makes no sense: {what}. Check forge.url, and what stands in between")


def _said(words: str) -> str:
    return f": {words}" if words else ""

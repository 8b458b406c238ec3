"""Which reviews approve a digest: the last verdict of each person, on exactly the content that they saw. Pure.

The forge's own judgement (`stale`, dismissed on push) is ignored: the same content on a newer main keeps its approvals,
other content has none, whatever the commits are (forges.md §4).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from gitops_bg.forge.port import Review, User, Verdict


@dataclass(frozen=True, slots=True)
class Approved:
    """An approval of a digest. ``user.id`` identifies the person: somebody else may take over a login."""

    user: User
    digest: str
    at: datetime
    commit: str
    """The head that they reviewed."""


@dataclass(frozen=True, slots=True)
class Void:
    """A review that does not count."""

    user: User
    why: str
    at: datetime
    objection: bool = False
    """Whether they ask for changes."""


@dataclass(frozen=True, slots=True)
class Approvals:
    """All reviews of one pull request, judged for one digest."""

    counted: tuple[Approved, ...] = ()
    """One per person, oldest first."""
    void: tuple[Void, ...] = ()
    """In the order of the reviews."""


def approvals_of(
    reviews: Iterable[Review], digest: str, digest_at: Mapping[str, str], authors: Collection[str]
) -> Approvals:
    """Judge the reviews for ``digest``.

    ``digest_at`` has for each reviewed commit the digest in its ``primary.yaml``. A commit that is not in it can no
    longer be read: its content is unknown, and a review of it does not count. ``authors`` are the ids of users who may
    not approve: who opened the pull request, and who wrote the change.
    """
    last = sorted(_last(reviews), key=lambda review: review.at)
    judged = [(review, _why_not(review, digest, digest_at, authors)) for review in last]
    return Approvals(
        tuple(Approved(review.user, digest, review.at, review.commit) for review, why in judged if not why),
        tuple(_void(review, why) for review, why in judged if why),
    )


def _void(review: Review, why: str) -> Void:
    return Void(review.user, why, review.at, objection=review.verdict is Verdict.CHANGES_REQUESTED)


def _last(reviews: Iterable[Review]) -> Iterable[Review]:
    """Return each person's newest review; of several at one moment, the last."""
    last: dict[str, Review] = {}
    for review in reviews:
        before = last.get(review.user.id)
        if before is None or review.at >= before.at:
            last[review.user.id] = review
    return last.values()


def _why_not(review: Review, digest: str, digest_at: Mapping[str, str], authors: Collection[str]) -> str:
    """Return why a review is no approval; empty where it is one."""
    user = review.user
    if review.verdict is Verdict.CHANGES_REQUESTED:
        return f"{user.login} asks for changes"
    if review.verdict is Verdict.WITHDRAWN:
        return f"the approval of {user.login} was withdrawn"
    if not user.id:
        return "the account that approved is gone"
    if user.bot:
        return f"{user.login} is a bot, and approvals are people's"
    if user.id in authors:
        return f"{user.login} is an author, and approves nothing of their own"
    return _other_content(review, digest, digest_at.get(review.commit))


def _other_content(review: Review, digest: str, seen: str | None) -> str:
    if seen is None:
        return f"nobody can tell what {review.user.login} approved: commit {review.commit[:10] or '(unknown)'} is gone"
    if seen != digest:
        return f"{review.user.login} approved other content, before the offer changed"
    return ""

"""What the three adapters have in common: look before creating again, one comment, the last word of each person."""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from gitops_bg.forge.adapters.api import Api
from gitops_bg.forge.adapters.shape import Shape
from gitops_bg.forge.errors import ForgeDown, Nonsense, NotAccepted
from gitops_bg.forge.port import CheckState, CheckStatus, Draft, Limits, Pull, PullState, Review, User
from gitops_bg.outbound.limits import Rate

TEAM = "team:"
_MOST_ASKED = 10_000
"""How many requests for a review or an assignment are remembered."""
NOBODY = User("", "ghost")
"""Whose account is gone."""
_CHECK_STATES = {
    "pending": CheckState.PENDING,
    "running": CheckState.PENDING,
    "success": CheckState.SUCCESS,
}
"""What a status says in any forge's words; all others (`failed`, `error`, `warning`, …) are failures."""
T = TypeVar("T")


class RestForge(ABC):
    """One repository on one forge. Implements what of `forge.port.Forge` needs no forge's own words."""

    limits: Limits

    def __init__(self, api: Api, owner: str, name: str) -> None:
        self._api = api
        self._owner, self._name = owner, name
        self._people_asked: OrderedDict[tuple[int, str, str], None] = OrderedDict()

    def rate(self) -> Rate:
        """What the forge said last of how much more may be asked."""
        return self._api.rate

    def close_connections(self) -> None:
        """At the end of the thread that asks."""
        self._api.close()

    def open(self, draft: Draft) -> Pull:
        """See `Forge.open`. A create without a clear answer may have worked: it is looked for (forges.md §5)."""
        pull = self._created(draft)
        self.edit(pull, draft)
        labels = tuple(dict.fromkeys((*pull.labels, *draft.labels)))
        return replace(pull, title=draft.title, body=draft.body, base=draft.base, labels=labels)

    def _created(self, draft: Draft) -> Pull:
        try:
            return self._create(draft)
        except (NotAccepted, ForgeDown, Nonsense) as error:
            found = self._look_for(draft)
            if found is None:
                raise error from None
            return found

    def _look_for(self, draft: Draft) -> Pull | None:
        """None also where looking fails: then the error of the create tells more."""
        try:
            return self._find(draft.branch, draft.base)
        except (ForgeDown, Nonsense):
            return None

    def comment(self, pull: Pull, marker: str, body: str) -> None:
        """See `Forge.comment`."""
        for comment in self._comments(pull.number):
            text = comment["body"].text("")
            if marker in text:
                if text.strip() != body.strip():
                    self._edit_comment(pull.number, comment["id"].number(), body)
                return
        self._add_comment(pull.number, body)

    def reported(self, commit: str, context: str) -> CheckStatus | None:
        """See `Forge.reported`. Where there are several of a context, the newest one comes first."""
        for status in self._statuses(commit, context):
            said = self._read_status(status)
            if said.context == context:
                return replace(said, commit=commit)
        return None

    def closed_pulls(self, prefix: str, since: datetime) -> tuple[Pull, ...]:
        """See `Forge.closed_pulls`."""
        recent = until(lambda pull: pull.updated_at < since, self._closed())
        return tuple(pull for pull in recent if pull.branch.startswith(prefix) and pull.state is not PullState.OPEN)

    def _not_asked(self, number: int, to: str, names: list[str]) -> list[str]:
        """Those who were not asked yet by this process: whom a person, or the forge, took off again stays off."""
        return [name for name in names if (number, to, name) not in self._people_asked]

    def _asked(self, number: int, to: str, names: Iterable[str]) -> None:
        for name in names:
            self._people_asked[number, to, name] = None
        while len(self._people_asked) > _MOST_ASKED:
            self._people_asked.popitem(last=False)

    @abstractmethod
    def open_pulls(self, prefix: str) -> tuple[Pull, ...]:
        """See `Forge.open_pulls`."""

    @abstractmethod
    def pull(self, number: int) -> Pull:
        """See `Forge.pull`."""

    @abstractmethod
    def close(self, pull: Pull) -> None:
        """See `Forge.close`."""

    @abstractmethod
    def report(self, status: CheckStatus) -> None:
        """See `Forge.report`."""

    @abstractmethod
    def reviews(self, pull: Pull) -> tuple[Review, ...]:
        """See `Forge.reviews`."""

    @abstractmethod
    def merged(self, commit: str) -> Pull | None:
        """See `Forge.merged`."""

    @abstractmethod
    def merge(self, pull: Pull, head: str) -> None:
        """See `Forge.merge`."""

    @abstractmethod
    def edit(self, pull: Pull, draft: Draft) -> None:
        """See `Forge.edit`."""

    @abstractmethod
    def _create(self, draft: Draft) -> Pull:
        """Ask for one, with title and body."""

    @abstractmethod
    def _find(self, branch: str, base: str) -> Pull | None:
        """The open one of a branch."""

    @abstractmethod
    def _closed(self) -> Iterator[Pull]:
        """Those not open, the one updated last first."""

    @abstractmethod
    def _statuses(self, commit: str, context: str) -> Iterable[Shape]:
        """Those of a commit, the newest first; none where the commit is not known."""

    @abstractmethod
    def _read_status(self, found: Shape) -> CheckStatus: ...

    @abstractmethod
    def _comments(self, number: int) -> Iterator[Shape]:
        """What people and we said, the oldest first."""

    @abstractmethod
    def _edit_comment(self, number: int, comment: int, body: str) -> None: ...

    @abstractmethod
    def _add_comment(self, number: int, body: str) -> None: ...


def cut(text: str, most: int) -> str:
    """A text of at most so many characters.

    >>> cut("soak until 12:00", 8)
    'soak un…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def until(ends: Callable[[T], bool], items: Iterable[T]) -> Iterator[T]:
    """The items before the first one for which this holds; no more of them are asked for."""
    for item in items:
        if ends(item):
            return
        yield item


def missing(wanted: Iterable[str], there: Iterable[str]) -> list[str]:
    """What is wanted and not there yet, whatever the case of its letters (forges do not tell `Ana` from `ana`)."""
    have = {name.casefold() for name in there}
    return [name for name in dict.fromkeys(wanted) if name.casefold() not in have]


def people_and_teams(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Logins, and the names of teams.

    >>> people_and_teams(["ana", "team:ops"])
    (['ana'], ['ops'])
    """
    chosen = list(names)
    people = [name for name in chosen if not name.startswith(TEAM)]
    return people, [name.removeprefix(TEAM) for name in chosen if name.startswith(TEAM)]


def last_words(reviews: Iterable[Review]) -> tuple[Review, ...]:
    """The last review of each person that says anything; the reviews come in their order."""
    last: dict[str, Review] = {}
    for review in reviews:
        last.pop(review.user.id, None)
        last[review.user.id] = review
    return tuple(last.values())


def check_status(found: Shape, state: str, context: str) -> CheckStatus:
    """A status in an answer; ``state`` and ``context`` are the fields with these."""
    said = _CHECK_STATES.get(found[state].text(), CheckState.FAILURE)
    return CheckStatus("", found[context].text(), said, found["description"].text(""), found["target_url"].text(""))


def described(status: CheckStatus, limits: Limits) -> str:
    """The description of a status, as long as the forge takes it."""
    return cut(" ".join(status.description.split()), limits.description)

"""What this process said of a rewritten main, app by app; whom another agent contradicts is silent.

Another agent takes it back (`Record.lost`) because its own main contains what ours lacks: then ours lags behind, and
two agents must not write a status in turns. Said again it is later and later: the other one may be gone by then.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_bg.core.model import AppKey

FIRST_POLLS = 4
"""After so many polls it is said again; then after twice as many, and so on."""
MOST_POLLS = 128


@dataclass(slots=True)
class _Word:
    lost: str
    poll: int
    """When it was said; where it was taken back, when it may be said again."""
    stands: bool = True
    taken_back: int = 0


class Sayings:
    """Asked by workers, one at a time for each app. ``poll`` counts the polls in a row at which something was lost."""

    def __init__(self) -> None:
        self._words: dict[AppKey, _Word] = {}

    def may_say(self, app: AppKey, lost: str, shown: str, poll: int) -> bool:
        """Whether the record, which shows ``shown`` lost, may be told that ``lost`` is."""
        word = self._words.get(app)
        if word is None or word.lost != lost or shown:
            return True
        if word.stands:
            pause = min(FIRST_POLLS * 2**word.taken_back, MOST_POLLS)
            word.stands, word.taken_back, word.poll = False, word.taken_back + 1, poll + pause
        return poll >= word.poll

    def said(self, app: AppKey, lost: str, poll: int) -> None:
        """It is in the record, by this process."""
        word = self._words.get(app)
        before = word.taken_back if word and word.lost == lost else 0
        self._words[app] = _Word(lost, poll, taken_back=before)

    def stood(self, app: AppKey, poll: int) -> int:
        """For how many polls it has not been taken back again; where it never was, since what it says began."""
        word = self._words.get(app)
        return poll - word.poll if word and word.taken_back else poll

    def due(self, poll: int, lasting: int) -> Iterator[AppKey]:
        """The apps to look at again at this poll: it may be said again, or has stood for so many."""
        for app, word in list(self._words.items()):
            if word.taken_back and poll == word.poll + (lasting if word.stands else 0):
                yield app

    def forget(self) -> None:
        """Nothing is lost any more."""
        self._words.clear()

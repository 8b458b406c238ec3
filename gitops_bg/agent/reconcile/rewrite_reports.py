"""What this process said of a rewritten main, app by app; whom another agent contradicts is silent.

Another agent takes it back (`Record.git.lost`) because its own main contains what ours lacks: then ours lags behind,
and two agents must not write a status in turns (`contradiction_backoff`). Said again it is later and later.
"""

from collections.abc import Iterator

from gitops_bg.agent.reconcile.contradiction_backoff import ContradictionBackoff
from gitops_bg.core.model.version import AppKey

FIRST_POLLS = 4
"""After so many polls it is said again; then after twice as many, and so on."""
MOST_POLLS = 128


class RewriteReports(ContradictionBackoff[str]):
    """By the commit that main lacks. Moments are the polls in a row at which something was lost."""

    def __init__(self) -> None:
        super().__init__(FIRST_POLLS, MOST_POLLS)

    def stood(self, app: AppKey, poll: int) -> float:
        """For how many polls it has not been taken back again; where it never was, since what it says began."""
        word = self._statements.get(app)
        return poll - word.at if word and word.taken_back else poll

    def due(self, poll: int, lasting: int) -> Iterator[AppKey]:
        """The apps to look at again at this poll: it may be said again, or has stood for so many."""
        for app, word in list(self._statements.items()):
            if word.taken_back and poll == word.at + (lasting if word.stands else 0):
                yield app

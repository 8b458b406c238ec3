"""What this process reported of a rewritten main, for each app and group; an agent that is contradicted stays silent.

Another agent reverts the report (`Record.git.lost`) because its own main contains what ours lacks: then ours lags
behind, and two agents must not overwrite a status in turns (`contradiction_backoff`). Repeated reports come later and
later.
"""

from collections.abc import Iterator

from gitops_bg.agent.reconcile.contradiction_backoff import ContradictionBackoff
from gitops_bg.core.model.version import AppKey, AppOrGroup

FIRST_POLLS = 4
"""The number of polls before a repeated report; doubled each time."""
MOST_POLLS = 128


class RewriteReports(ContradictionBackoff[str]):
    """Reports by the commit that main lacks. Time is counted in polls in a row that found a commit missing."""

    def __init__(self) -> None:
        super().__init__(FIRST_POLLS, MOST_POLLS)

    def stood(self, who: AppOrGroup, poll: int) -> float:
        """For how many polls a report has not been contradicted; if it never was, since the loss began."""
        word = self._statements.get(who)
        return poll - word.at if word and word.taken_back else poll

    def due(self, poll: int, lasting: int) -> Iterator[AppKey]:
        """The apps to look at again at this poll: the report may be repeated, or has stood for ``lasting`` polls."""
        for who, word in list(self._statements.items()):
            is_due = word.taken_back and poll == word.at + (lasting if word.stands else 0)
            if is_due and isinstance(who, AppKey):  # Each poll has all groups looked at.
                yield who

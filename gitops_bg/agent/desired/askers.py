"""Who asked for what ``app.yaml`` asks for: since which commit one field of its spec says what it says (decision 18).

Of the field, not of the file: else whoever ends a suspension would be taken for who asked for a retry before it, and a
retry that a revert had answered would lift the hold of that revert. Decides nothing.
"""

from typing import Any

from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.desired import PassedRetry
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import AppKey, Source
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.app.to_core import retry_in
from gitops_bg.spec.yaml.reader import read_one


class Askers:
    """Answers for one repository, remembered until main moves. Called by workers; the repository's lock is enough."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._answers: dict[tuple[AppKey, str], tuple[str, Source | None]] = {}

    def of(self, app: AppKey, field: str, commit: str) -> Source | None:
        """Who made ``spec.<field>`` what it is at a commit of main, and where main let that in.

        A source without a commit where nobody can tell now (the remote is away, and the mirror does not have all).
        """
        known, source = self._answers.get((app, field), ("", None))
        if known == commit:
            return source
        try:
            source = self._ask(app, field, commit)
        except GitopsBgError:
            return Source("")
        self._answers[app, field] = (commit, source)
        return source

    def _ask(self, app: AppKey, field: str, commit: str) -> Source | None:
        asked: list[Any] = []
        """What it says at ``commit``: the first that can be read, for the newest is read first."""

        def says(data: bytes) -> bool | None:
            document, _ = read_one(APP_FILE, data)
            if document is None or not isinstance(document.value.get("spec"), dict):
                return None  # Nobody can tell: what the app was asked for before holds.
            said = document.value["spec"].get(field)
            asked[:] = asked or [said]
            return bool(said == asked[0])

        return self._repository.said_since(app, APP_FILE, says, commit)

    def retries(self, app: AppKey, since: int, now: Retry, commit: str) -> tuple[PassedRetry, ...]:
        """The retries that main let in after the one of number ``since`` and before ``now``, oldest first.

        None of them where nobody can tell now: then `of` has no commit either, and all of it is asked again.
        """

        def enough(data: bytes) -> bool:
            retry = retry_in(data)
            return retry is not None and retry.number <= since

        try:
            said = self._repository.said_before(app, APP_FILE, enough, commit)
        except GitopsBgError:
            return ()
        found: dict[int, PassedRetry] = {}
        for source, data in said:
            retry = retry_in(data)
            if retry and since < retry.number < now.number:
                found[retry.number] = PassedRetry(retry, source)  # The oldest is read last: since then.
        return tuple(found[number] for number in sorted(found))

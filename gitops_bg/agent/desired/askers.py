"""Who asked for a request in ``app.yaml`` or ``group.yaml``: the commit since which one field of its spec has its value
(decision 18).

Of the field, not of the file: otherwise the author of a later change of suspension would pass for the author of an
earlier retry, and a retry that a revert had answered would lift the hold of that revert. Decides nothing.
"""

from typing import Any

from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.desired import PassedRetry
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, Source
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.app.to_core import retry_in
from gitops_bg.spec.groups.layout import GROUP_FILE
from gitops_bg.spec.yaml.reader import read_one


class Askers:
    """Answers for one repository, cached until main moves. Called by workers; the repository's lock is enough."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._answers: dict[tuple[AppOrGroup, str], tuple[str, Source | None]] = {}

    def of(self, app: AppOrGroup, field: str, commit: str) -> Source | None:
        """Return who gave ``spec.<field>`` its value at a commit of main, and where that came into main.

        A source without a commit where it cannot be told now (the remote is unreachable, and the mirror is incomplete).
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

    def _ask(self, app: AppOrGroup, field: str, commit: str) -> Source | None:
        asked: list[Any] = []
        """The value at ``commit``: the first that can be read, because the newest is read first."""

        file = GROUP_FILE if isinstance(app, GroupKey) else APP_FILE

        def says(data: bytes) -> bool | None:
            document, _ = read_one(file, data)
            if document is None or not isinstance(document.value.get("spec"), dict):
                return None  # Unknown: the value known before holds.
            said = document.value["spec"].get(field)
            asked[:] = asked or [said]
            return bool(said == asked[0])

        return self._repository.said_since(app, file, says, commit)

    def retries(self, app: AppKey, since: int, now: Retry, commit: str) -> tuple[PassedRetry, ...]:
        """The retries that came into main after number ``since`` and before ``now``, oldest first.

        Empty where they cannot be told now: then `of` returns no commit either, and all of it is asked again.
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
                found[retry.number] = PassedRetry(retry, source)  # The oldest is read last: it exists since then.
        return tuple(found[number] for number in sorted(found))

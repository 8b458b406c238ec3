"""What a list shows of all apps and groups, as one immutable `Snapshot`, made anew of what changed since the last one.

The agent says what changed, from any thread; nothing is computed until somebody looks. An app costs the unpacking of
its status once for each change, and ten thousand unchanged ones cost nothing.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from gitops_bg.cluster.api.kinds import RELEASE_GROUPS, Object
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.conditions import Meaning
from gitops_bg.core.model.version import AppKey, AppOrGroup, SubjectKind
from gitops_bg.spec.status import GroupStatus, Status
from gitops_bg.views.conditions import asked_of_people
from gitops_bg.views.rows import AnyRow, GroupRow, Row, group_row_of, in_order, row_of

GROUP = SubjectKind.GROUP
_GROUPS_SECONDS = 3.0
"""How old a list of groups may be: nothing watches their status."""


@dataclass(frozen=True, slots=True)
class ShownGate:
    """A gate in a status: what it waits for, and until when that is known."""

    kind: str
    reason: str
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the list: the row of `get`, and what people look for beside it."""

    row: AnyRow
    message: str
    shut: tuple[ShownGate, ...]
    """The shut gates, the one that it waits for first."""
    changed_at: datetime | None
    """When a condition changed last; None where the status has no time."""
    asked: tuple[Meaning, ...]
    """Who must do what, and by which command; empty where it goes on by itself."""
    text: str
    """What a search looks through, in small letters."""

    @property
    def key(self) -> AppOrGroup:
        """The app or the group."""
        return self.row.key

    @property
    def waits_for(self) -> ShownGate | None:
        """The first shut gate."""
        return next(iter(self.shut), None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of them at one moment, by namespace and name; members of a group stand below it."""

    number: int = 0
    """Grows whenever something that is shown changed."""
    rows: tuple[Listed, ...] = ()
    phases: Mapping[str, int] = field(default_factory=dict)
    """How many are in each phase."""
    namespaces: tuple[str, ...] = ()
    """The namespaces that have something."""

    def seen_by(self, sees: Callable[[str], bool]) -> "Snapshot":
        """Return the part in the namespaces that somebody sees."""
        hidden = {each for each in self.namespaces if not sees(each)}
        if not hidden:
            return self
        return snapshot_of(self.number, (each for each in self.rows if each.row.namespace not in hidden))


def snapshot_of(number: int, rows: Iterable[Listed]) -> Snapshot:
    """Return the snapshot of these lines."""
    lines = tuple(rows)
    namespaces = tuple(sorted({each.row.namespace for each in lines}))
    return Snapshot(number, lines, Counter(each.row.phase for each in lines), namespaces)


class Board:
    """Keeps the newest `Snapshot` of a cluster, for any thread."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._clock = clock
        self._listing = threading.Lock()
        self._making = threading.Lock()
        self._noting = threading.Lock()
        self._stale: set[AppKey] | None = None
        """The apps that changed; None: all of them are to be read."""
        self._known: dict[AppOrGroup, Listed] = {}
        self._place: dict[AppOrGroup, int] = {}
        self._groups_at = -math.inf
        self._groups_listed = -1
        """How often groups had changed when they were listed last."""
        self._group_changes = 0
        self._snapshot = Snapshot()
        self._listeners: list[Callable[[], None]] = []
        self._changes: Counter[AppOrGroup | str | None] = Counter()

    def changed(self, subject: AppOrGroup) -> None:
        """Note that an app or a group may have changed. Costs next to nothing."""
        with self._noting:
            if isinstance(subject, AppKey) and self._stale is not None:
                self._stale.add(subject)
            self._group_changes += subject.kind is GROUP
            self._changes.update((subject, subject.namespace, None))
        for wake in self._listeners:
            wake()

    def fetched(self) -> None:
        """Note that pages about everything may show something else, although no app or group has changed here."""
        with self._noting:
            self._changes[None] += 1
        for wake in self._listeners:
            wake()

    def changes_of(self, about: AppOrGroup | None) -> int:
        """Return how often changed what a page about it may show: that of a group shows its members. None: anything."""
        with self._noting:
            return self._changes[about.namespace if about is not None and about.kind is GROUP else about]

    def listen(self, wake: Callable[[], None]) -> None:
        """Have somebody told that `changes_of` something has grown, on whichever thread that happens."""
        self._listeners.append(wake)

    def snapshot(self) -> Snapshot:
        """Return the newest snapshot. May ask the cluster for its groups, so not on the thread that answers health.

        One reader lists them. The others do not wait for it, unless a group is known to have changed.
        """
        if not self._listing.acquire(blocking=self._group_changes != self._groups_listed):
            return self._made(None)
        try:
            return self._made(self._listed_groups())
        finally:
            self._listing.release()

    def _made(self, groups: Iterable[Listed] | None) -> Snapshot:
        with self._making:
            fresh = self._fresh_apps()
            if groups is not None:
                fresh |= {key: None for key in self._known if key.kind is GROUP} | {each.key: each for each in groups}
            changed = {key for key, each in fresh.items() if each != self._known.get(key)}
            if changed or not self._snapshot.number:
                rows = self._rows({key: fresh[key] for key in changed})
                self._snapshot = snapshot_of(self._snapshot.number + 1, rows)
            return self._snapshot

    def _rows(self, changed: Mapping[AppOrGroup, Listed | None]) -> tuple[Listed, ...]:
        """Return all lines, with those that changed (None: it is gone)."""
        moves = any(each is None or key not in self._place or key.kind is GROUP for key, each in changed.items())
        for key, each in changed.items():
            if each is None:
                self._known.pop(key, None)
            else:
                self._known[key] = each
        if not moves:
            rows = list(self._snapshot.rows)
            for key in changed:
                rows[self._place[key]] = _in_group(self._known[key], rows[self._place[key]].row)
            return tuple(rows)
        lines = [each.row for each in self._known.values()]
        ordered = in_order((each for each in lines if isinstance(each, Row)), _groups_in(lines))
        self._place = {row.key: place for place, row in enumerate(ordered)}
        return tuple(_in_group(self._known[row.key], row) for row in ordered)

    def _fresh_apps(self) -> dict[AppOrGroup, Listed | None]:
        """Return the apps that may have changed; None in place of one that is gone."""
        with self._noting:
            stale, self._stale = self._stale, set()
        if stale is None:
            return {app: listed(_body(app, state)) for app, state in self._cluster.bgds().items()}
        fresh = dict[AppOrGroup, Listed | None]()
        for app in stale:
            try:
                state = self._cluster.own_bgd(app)
                fresh[app] = listed(_body(app, state)) if state else None
            except GitopsBgError:  # What is known of it stays; the next snapshot asks again.
                with self._noting:
                    self._stale.add(app)
        return fresh

    def _listed_groups(self) -> list[Listed] | None:
        """Return all groups, where it is time to list them: nothing watches their status. None: those that are
        known.
        """
        changes = self._group_changes
        if changes == self._groups_listed and self._clock() - self._groups_at < _GROUPS_SECONDS:
            return None
        try:
            bodies = self._cluster.client.list(RELEASE_GROUPS)
        except GitopsBgError:  # The cluster has none, or does not say now: those that are known are shown.
            return None
        finally:
            self._groups_listed, self._groups_at = changes, self._clock()
        return [listed_group(each) for each in bodies if self._cluster.release_groups.is_ours(each)]


def _groups_in(rows: Iterable[AnyRow]) -> Iterator[GroupRow]:
    return (each for each in rows if isinstance(each, GroupRow))


def _in_group(line: Listed, placed: AnyRow) -> Listed:
    """Return the line of an app with the group that it is placed in."""
    if isinstance(line.row, Row) and isinstance(placed, Row) and line.row.group != placed.group:
        return replace(line, row=replace(line.row, group=placed.group))
    return line


def _body(app: AppKey, state: AppState) -> Object:
    """Return a live object, as far as a row shows it."""
    annotations = {names.BRANCH: state.branch} if state.branch else {}
    named = {"namespace": app.namespace, "name": app.name, "creationTimestamp": state.created}
    return {"metadata": named | {"annotations": annotations}, "status": state.status.read()}


def listed(body: Mapping[str, Any]) -> Listed:
    """Return the line of a live BlueGreenDeployment."""
    row = row_of(body)
    images = (row.image, row.candidate_image, row.active_name, row.candidate_name)
    return _listed(row, Status.read(body.get("status")), row.message, images)


def listed_group(body: Mapping[str, Any]) -> Listed:
    """Return the line of a live ReleaseGroup."""
    row = group_row_of(body)
    return _listed(row, row.status, row.status.message or "", row.status.candidates or ())


def _listed(row: AnyRow, status: Status | GroupStatus, message: str, more: Iterable[str]) -> Listed:
    changes = (moment(each.last_transition_time) for each in status.conditions or ())
    return Listed(
        row=row,
        message=message,
        shut=tuple(
            ShownGate(each.kind, each.reason or "", moment(each.until)) for each in status.gates or () if not each.open
        ),
        changed_at=max(filter(None, changes), default=None),
        asked=tuple(asked_of_people(row.phase, row.demands, row.advised)),
        text="\n".join((str(row.key), row.phase, message, *more)).lower(),
    )


def moment(text: str | None) -> datetime | None:
    """Return a time of a status; None where there is none that can be read."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None

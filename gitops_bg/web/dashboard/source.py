"""What the pages are made of: the list of everything, one app or group, its history, main. The same for a running agent
and for `gitops-bg dashboard`.

The list is made of finished passes alone. The page of one app also asks for its pods, which no agent watches, and for
its history in the mirror: once for all who look at it at the same time.
"""

import math
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.releases import held_in_main, offered_releases
from gitops_bg.agent.groups.commands import GroupCommands
from gitops_bg.agent.live_views import read_app_view, read_group, troubles_of
from gitops_bg.agent.operate.apps import AppCommands
from gitops_bg.agent.operate.compare import Comparison, compare
from gitops_bg.agent.operate.personal_forge import PersonalForge
from gitops_bg.cluster.api.kinds import RELEASE_GROUPS
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.checks.policy_judge import proofs_awaited
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import Environments
from gitops_bg.core.errors import GitopsBgError, Transient
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.policy_rules import After
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from gitops_bg.core.written import Labels
from gitops_bg.repo.ledger.ledger import ClusterLedger, Committed
from gitops_bg.spec.app.layout import PRIMARY_FILE
from gitops_bg.spec.app.primary import read_primary
from gitops_bg.spec.manifests.differences import Difference, differences
from gitops_bg.spec.yaml.reader import read_one
from gitops_bg.views.app import AppView
from gitops_bg.views.environments import EnvironmentsRow, InMain, environments_of
from gitops_bg.views.group_tree import GroupView
from gitops_bg.views.history import HistoryRow
from gitops_bg.views.obstacles import Trouble
from gitops_bg.web.access.person import Access
from gitops_bg.web.dashboard.policies import DAYS, shown_policies
from gitops_bg.web.dashboard.snapshot import Board, Listed, Snapshot

_PLACE = re.compile(r"\{(namespace|app|pod|version)\}")
_FRESH_SECONDS = 1.0
"""How long what was read for one page is good for another."""
_FETCHED_SECONDS = 60.0
"""How long what was fetched for one is good for another."""
_PATIENCE_SECONDS = 5.0
"""How long a page waits for the first fetch."""
_REMEMBERED = 256
_HISTORIES = 64, 1_024, 65_536
"""How many entries of a history are read and kept: each page of it would be a history of its own otherwise."""
_MOST_ENTRIES = 65_536
"""How many entries of all histories are kept."""
_MOST_COMPARED = 4 * 1024 * 1024
"""Characters of all comparisons that are kept."""
T = TypeVar("T")


class Running(Protocol):
    """An agent, or what stands for one."""

    @property
    def cluster(self) -> Cluster:
        """Its caches."""
        ...

    @property
    def catalog(self) -> Catalog:
        """What it knows of main."""
        ...

    @property
    def app_commands(self) -> AppCommands:
        """What may be asked of apps."""
        ...

    @property
    def listeners(self) -> list[Callable[[AppOrGroup], None]]:
        """Who is called with what changed, on any thread."""
        ...

    @property
    def group_commands(self) -> GroupCommands:
        """What may be asked of release groups."""
        ...

    def account(self, _token: str, _issuer: str, /) -> PersonalForge:
        """Return the account of a person at the forge, by their token there, and the provider that gave it."""
        ...

    def readiness_problems(self) -> list[str]:
        """Return what is wrong with what it knows."""
        ...


@dataclass(frozen=True, slots=True)
class MainState:
    """Main, as it was read last."""

    commit: str
    branch: str
    age_seconds: float = field(compare=False)
    cluster: str
    ledger: str
    """The branch of its ledger."""
    problems: tuple[str, ...]


class Source:
    """All that a page may ask. Any thread but the one that answers health may call it."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self.board = Board(running.cluster)
        running.listeners.append(self.board.changed)
        self._recent = Recent()
        self._comparisons = Recent(math.inf, most=_MOST_COMPARED, weigh=lambda made: len(repr(made)))
        self._histories = Recent(math.inf, most=_MOST_ENTRIES, weigh=len)
        self._fleet = Fleet(running.catalog.repository.ledgers.read, self.clock, self.board.fetched)

    def clock(self) -> datetime:
        """Return the time of the agent, in UTC."""
        return self._running.app_commands.now

    def snapshot(self) -> Snapshot:
        """Return all apps and groups, as the last finished passes left them."""
        return self.board.snapshot()

    def main(self) -> MainState:
        """Return what is known of main, and what is wrong with that."""
        catalog = self._running.catalog
        settings = catalog.repository.settings
        return MainState(
            commit=catalog.commit,
            branch=settings.branch or "",
            age_seconds=catalog.last_look.age.total_seconds(),
            cluster=settings.cluster,
            ledger=settings.state_branch,
            problems=tuple(self._running.readiness_problems()),
        )

    def app(self, app: AppKey) -> AppView | None:
        """Return one app as it is now; None where the cluster runs none of that name. Raises the cluster's errors."""
        return self._of(app, "view", lambda: read_app_view(self._running.cluster, app))

    def group(self, group: GroupKey) -> GroupView | None:
        """Return one release group as it is now; None where there is none. Raises the cluster's errors."""

        def read() -> GroupView | None:
            body = self._running.cluster.client.get(RELEASE_GROUPS, group.namespace, group.name)
            return read_group(self._running.cluster, body) if body is not None else None

        return self._of(group, "view", read)

    def troubles(self, view: AppView) -> tuple[Trouble, ...]:
        """Return why pods of the newest version do not start."""
        newest, app = view.newest, view.row.key
        if newest is None or not any(pod for pod in view.pods if not pod.is_ready):
            return ()
        folder = self._running.catalog.repository.places.folder(app) if self._running.catalog.seen else f"apps/{app}"
        snapshot = newest.snapshot
        return self._of(app, "troubles", lambda: troubles_of(self._running.cluster, app, snapshot, folder))

    def history(self, about: AppOrGroup, limit: int) -> Sequence[HistoryRow]:
        """Return the newest entries of the ledger; none while nobody has read the repository. Raises Git's errors."""

        most = next((each for each in _HISTORIES if each >= limit), limit)

        def read() -> Sequence[Committed]:
            if not self._running.catalog.seen:
                return ()
            repository = self._running.catalog.repository
            key = about, most, repository.ledger.looked_at()
            return self._histories.of(key, lambda: repository.history.of(about, most))

        return [HistoryRow(each, about) for each in self._of(about, most, read)[:limit]]

    def _of(self, about: AppOrGroup, what: Hashable, read: Callable[[], T]) -> T:
        """Return something of an app or a group, as read a moment ago, but after its last change: nobody wakes an open
        page again.
        """
        return self._recent.of((about, what), read, self.board.changes_of(about))

    @property
    def commands(self) -> AppCommands:
        """What may be asked of apps."""
        return self._running.app_commands

    @property
    def group_commands(self) -> GroupCommands:
        """What may be asked of release groups."""
        return self._running.group_commands

    def account(self, token: str, issuer: str) -> PersonalForge | None:
        """Return the account of a person at the forge, by their token there, which ``issuer`` gave; None without."""
        return self._running.account(token, issuer) if token else None

    def changes(self, app: AppKey, row: HistoryRow) -> tuple[Difference, ...]:
        """Return how the pod templates of an entry differ; nothing where one of the two is nowhere to be found any
        more.
        """
        sides = [self._template(app, str(row.json.get(key) or "")) for key in ("fromDigest", "toDigest")]
        return tuple(differences(*map(reread_json, sides))) if all(sides) else ()

    def _template(self, app: AppKey, digest: str) -> str:
        """Return the pod template of a version, from what runs, or from a former primary.yaml of main."""
        view = self.app(app)
        known = view.templates.get(digest, "") if view is not None else ""
        if known or not digest or not self._running.catalog.seen:
            return known
        content = self._running.catalog.repository.find_primary(app, digest=digest)
        document = read_one(PRIMARY_FILE, content)[0] if content else None
        primary = read_primary(document, app)[0] if document else None
        return primary.snapshot.text if primary else ""

    def labels(self, about: AppOrGroup) -> Labels:
        """Return the labels of the target of an app; those of a group are of its services."""
        return self._running.catalog.reading.labels(about) if isinstance(about, AppKey) else ()

    def logs_of(self, app: AppKey, version: int, pod: str) -> str:
        """Return the address of the logs of a pod, by the template in gitops-bg.yaml; empty where there is none."""
        links = self._running.catalog.reading.settings.links
        values = {"namespace": app.namespace, "app": app.name, "version": str(version), "pod": pod}
        template = (links.logs if links is not None else "") or ""
        return _PLACE.sub(lambda found: quote(values[found[1]], safe=""), template)

    def compare(self, app: AppKey, before: int, after: int) -> Comparison:
        """Return how two versions of an app differ, by their numbers, as compared once for a commit of main. Raises
        `ObjectNotFound`, and Git's errors.
        """
        commands = self.commands
        facts = commands.facts(app)
        known = (facts.record.numbered(before), facts.record.numbered(after))
        key = app, facts.commit, before, after, tuple(each and each.digest for each in known)
        return self._comparisons.of(key, lambda: compare(commands, facts, before, after, self.clock()))

    def policies(self, rows: Iterable[Listed], now: datetime, *, sees_all: bool = True) -> dict[str, Any]:
        """Return the policies of main with what they shut, and the errors of their files. For who does not see all,
        those for any of these rows: what else people wrote may name what they do not see.
        """
        reading = self._running.catalog.reading
        labels = {app: entry.config.labels for app, entry in reading.entries.items()}
        shown = shown_policies(reading.policies.policies, rows, labels, now)
        troubles = [each.said for each in reading.policies.troubles] if sees_all else []
        return {"policies": [each for each in shown if sees_all or each.apps], "troubles": troubles, "days": DAYS}

    def fleet(self) -> "FleetReading":
        """Return the ledgers of all clusters of the repository, as they were fetched last. Raises `Transient` while
        there is nothing to show: main, or they, were not read yet.
        """
        if not self._running.catalog.seen:
            raise Transient("the repository was not read yet")
        return self._fleet.latest()

    def environments(self) -> Environments:
        """Return the environments of the repository; none where it has none."""
        return self._running.catalog.reading.environment.environments

    def by_environment(self, fleet: "FleetReading") -> list[EnvironmentsRow]:
        """Return a row for each app that is in an environment, by what the ledgers say."""
        repository, environments = self._running.catalog.repository, self.environments()
        if not environments:
            return []
        held = partial(held_in_main, repository)
        reading = self._running.catalog.reading
        unclear = "; ".join(map(str, reading.environment.problems))
        policies = reading.policies.policies

        def asked(app: AppKey, environment: str) -> tuple[After, ...]:
            return proofs_awaited(policies, app, reading.labels(app), environment)

        main = InMain(repository.placed, held, offered_releases(repository), unclear, asked)
        return environments_of(environments, fleet.ledgers, repository.inner_folders(), main)

    def access(self) -> Access:
        """Return who may do what, as main says it now. Before it was read, nobody but who is on this machine sees
        anything.
        """
        reading = self._running.catalog.reading
        if not (self._running.catalog.seen and reading.settings_known):
            return Access(known=False)
        return Access(tuple(reading.settings.access))

    def commit_url(self, commit: str) -> str:
        """Return the page of a commit on the forge; empty where nobody knows which that is."""
        return self._running.catalog.commit_url(commit) if commit else ""


@dataclass(frozen=True, slots=True)
class FleetReading:
    """The ledgers of all clusters, as they were fetched last."""

    read_at: datetime
    ledgers: tuple[ClusterLedger, ...]
    trouble: str = ""
    """Why they could not be fetched again since."""

    def seen_by(self, sees: Callable[[str], bool]) -> "FleetReading":
        """Return the part in the namespaces that somebody sees."""
        return replace(self, ledgers=tuple(each.seen_by(sees) for each in self.ledgers))


class Fleet:
    """Fetches the ledgers for pages, in a thread of its own and at most once a minute: a remote that is slow or down
    keeps no page waiting. Nothing runs while nobody looks. ``fetched`` is called after each try.
    """

    def __init__(
        self,
        read: Callable[[], tuple[ClusterLedger, ...]],
        clock: Callable[[], datetime],
        fetched: Callable[[], None] = lambda: None,
        patience: float = _PATIENCE_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._clock = clock
        self._fetched = fetched
        self._patience = patience
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._reading = False
        self._asked_at = -math.inf
        self._tried = threading.Event()
        self._known: FleetReading | None = None
        self._trouble = "the ledgers of all clusters could not be fetched"

    def latest(self) -> FleetReading:
        """Return what was fetched last, at once; the first time it is waited for, a few seconds. Raises `Transient`
        where there is nothing yet.
        """
        now = self._monotonic()
        with self._lock:
            if not self._reading and now - self._asked_at >= _FETCHED_SECONDS:
                self._reading, self._asked_at = True, now
                threading.Thread(target=self._fetch, name="fleet", daemon=True).start()
        if not self._tried.wait(max(0.0, self._asked_at + self._patience - now)):
            raise Transient("the ledgers of all clusters are being fetched; look again in a moment")
        known = self._known
        if known is None:
            raise Transient(self._trouble)
        return known

    def _fetch(self) -> None:
        try:
            self._known, self._trouble = FleetReading(self._clock(), self._read()), ""
        except GitopsBgError as error:
            self._trouble = str(error)
            self._known = replace(self._known, trouble=self._trouble) if self._known else None
        finally:
            self._reading = False
            self._tried.set()
            self._fetched()


@dataclass(eq=False, slots=True)
class _Reading:
    """Something that is being read, or was read until a moment."""

    version: int
    result: Future[Any] = field(default_factory=Future)
    until: float = math.inf
    weight: int = 1


class Recent:
    """What was read a moment ago, once for all who ask at the same time; the newest of each key, and of the keys those
    that were read last: ``keys`` of them at most, which together weigh no more than ``most``, by what ``weigh`` says.
    """

    def __init__(
        self,
        seconds: float = _FRESH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        *,
        keys: int = _REMEMBERED,
        most: float = math.inf,
        weigh: Callable[[Any], int] = lambda _: 1,
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._keys = keys
        self._most = most
        self._weigh = weigh
        self._lock = threading.Lock()
        self._known: dict[Hashable, _Reading] = {}
        self._weight = 0

    def of(self, key: Hashable, read: Callable[[], T], version: int = 0) -> T:
        """Return what `read` returned last, if that is recent and no older than ``version``; else what it returns now.
        Raises what it raises, to all who wait for it.
        """
        result, fill = self.begin(key, read, version)
        if fill is not None:
            fill()
        return result.result()

    def begin(
        self, key: Hashable, read: Callable[[], T], version: int = 0
    ) -> tuple[Future[T], Callable[[], None] | None]:
        """Return what `of` returns, as it comes; and, where nobody reads it yet, what does: on a thread of whoever asks
        first, and in any case.
        """
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.version >= version and self._clock() < known.until:
                return known.result, None
            reading = self._add(key, version)
        return reading.result, partial(self._fill, key, reading, read)

    def _add(self, key: Hashable, version: int) -> _Reading:
        self._forget(key)
        reading = self._known[key] = _Reading(version)
        reading.result.set_running_or_notify_cancel()
        self._weight += reading.weight
        self._make_room()
        return reading

    def _make_room(self) -> None:
        """Forget those that are old, and the oldest while there are too many; never the newest."""
        now = self._clock()
        for key, each in list(self._known.items())[:-1]:
            if each.until > now and len(self._known) <= self._keys and self._weight <= self._most:
                return
            self._forget(key)

    def _forget(self, key: Hashable) -> None:
        gone = self._known.pop(key, None)
        self._weight -= gone.weight if gone is not None else 0

    def _fill(self, key: Hashable, reading: _Reading, read: Callable[[], T]) -> None:
        try:
            found = read()
            weight = self._weigh(found)
        except BaseException as error:
            with self._lock:
                if self._known.get(key) is reading:
                    self._forget(key)
            reading.result.set_exception(error)
        else:
            self._keep(key, reading, weight)
            reading.result.set_result(found)

    def _keep(self, key: Hashable, reading: _Reading, weight: int) -> None:
        with self._lock:
            reading.until = self._clock() + self._seconds
            if self._known.get(key) is reading:
                self._weight += weight - reading.weight
                reading.weight = weight
                self._make_room()


def quietly(read: Callable[[], tuple[T, ...]]) -> tuple[tuple[T, ...], str]:
    """Return what was read; or nothing, and why it could not be read."""
    try:
        return read(), ""
    except GitopsBgError as error:
        return (), str(error)

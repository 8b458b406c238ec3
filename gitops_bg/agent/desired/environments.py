"""What the environment of this cluster is told of those before it: reads the ledgers of their clusters as last fetched,
and puts the releases that they name in main's order (decision 113). Decides nothing, writes nothing.

The ledgers come with the one look at the remote; a file of one is read when it has changed.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from cachetools import LRUCache

from gitops_bg.agent.desired.reading import AppEntry, Reading
from gitops_bg.agent.desired.releases import is_released, release_in, release_path
from gitops_bg.agent.runtime.cpu import cpu_limited
from gitops_bg.core.checks.policy_judge import proofs_asked_for
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import After, Environment, Environments, Newer, wave, wave_of
from gitops_bg.core.environments.proven import (
    ClusterReport,
    EnvironmentInput,
    Former,
    KnownRelease,
    OfferedRelease,
    formers_of,
    named_in,
    rule_of,
)
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_rules import After as AfterRule
from gitops_bg.core.model.policy_rules import Mode, Policy
from gitops_bg.core.model.version import AppKey, AppOrGroup, ReleaseId
from gitops_bg.core.names import entry_branch
from gitops_bg.repo.ledger.ledger import FollowedLedger, report_of
from gitops_bg.repo.ledger.ledger_file import LedgerDocument
from gitops_bg.repo.read.environment import EnvironmentAt
from gitops_bg.repo.read.promotion_branches import AskedBy
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import STATE_PREFIX, entry_of_branch
from gitops_bg.spec.app.layout import OVERLAY_FILE, RELEASE_FILE
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.environments.home import Home
from gitops_bg.spec.environments.release import Release

LOGGER = logging.getLogger(__name__)

_REMEMBERED = 1000

TICKS = 3
"""After how many polls in vain nobody has looked."""


class Watchfulness:
    """Since when this process has looked at Git and the cluster without a break. ``age`` gives the seconds since the
    cluster last confirmed what is known of it, which is too old after ``stale``; ``clock`` is UTC, ``steady`` gives
    seconds.
    """

    def __init__(
        self,
        seconds: float,
        stale: float,
        age: Callable[[], float],
        clock: Callable[[], datetime],
        steady: Callable[[], float] = monotonic,
    ) -> None:
        self._most = TICKS * seconds
        self._stale = max(stale, self._most)
        self._age = age
        self._clock = clock
        self._steady = steady
        self._since: datetime | None = None
        self._looked = float("-inf")

    def looked(self) -> None:
        """Note that Git was read just now."""
        now, age = self._steady(), self._age()
        if age > self._stale:
            self._since = None
        elif self._since is None or now - self._looked > self._most:
            self._since = self._clock() - timedelta(seconds=age)
        self._looked = now

    def since(self) -> datetime | None:
        """Return since when; None while nobody looks."""
        is_late = self._steady() - self._looked > self._most
        return None if is_late or self._age() > self._stale else self._since


@dataclass(frozen=True, slots=True)
class _Known:
    """A file of a ledger as it was read last."""

    blob: str
    document: LedgerDocument


class FormerLedgers:
    """The ledgers of the clusters that releases come from."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._ledgers: Mapping[str, FollowedLedger] = {}
        self._files: dict[str, dict[AppOrGroup, _Known]] = {}
        self._clusters: tuple[str, ...] = ()

    def follow(self, at: EnvironmentAt, asked: Collection[str] = ()) -> bool:
        """Ask the remote for the ledgers of the clusters that releases come from, and of those in the environments that
        policies have ``asked`` about; and for the branches that ask for a release here. Return whether that is
        something else than before.
        """
        own, cluster = at.environment, self._repository.settings.cluster
        before = _before(at.environments, own, self._repository.ways, asked) if own is not None else ()
        beside = (*wave_before(own, cluster), *siblings_of(own, cluster)) if own is not None else ()
        before = tuple(dict.fromkeys((*before, *beside)))
        mirror, name = self._repository.mirror, at.name
        wanted = frozenset(f"{STATE_PREFIX}{each}" for each in before)
        is_new = (mirror.former, mirror.environment) != (wanted, name)
        mirror.former, mirror.environment, self._clusters = wanted, name, before
        return is_new

    def read(self) -> set[AppOrGroup]:
        """Read what has moved; return the apps and groups of which a ledger says something else."""
        before, self._ledgers = self._ledgers, self._repository.ledgers.of(self._clusters)
        moved = set[AppOrGroup]()
        for cluster, ledger in self._ledgers.items():
            was, known = before.get(cluster), self._files.setdefault(cluster, {})
            if was is not None and was.files is ledger.files and was.trouble == ledger.trouble:
                continue
            changed = {who for who, blob in ledger.files.items() if who not in known or known[who].blob != blob}
            gone = known.keys() - ledger.files.keys()
            for who, document in ledger.documents_of(changed).items():
                known[who] = _Known(ledger.files[who], document)
            has_other_trouble = was is None or was.trouble != ledger.trouble
            moved |= changed | gone | (set(known) if has_other_trouble else set())
            for who in gone:
                known.pop(who)
        return moved

    def report(self, cluster: str, app: AppKey) -> ClusterReport:
        """Return what the ledger of a cluster says of an app."""
        ledger = self._ledgers.get(cluster)
        if ledger is None:
            return ClusterReport(cluster, trouble="it was not read yet")
        known = self._files.get(cluster, {}).get(app)
        if known is None or ledger.trouble:
            return ClusterReport(cluster, written=ledger.written, trouble=ledger.trouble)
        return report_of(cluster, known.document, ledger.written)


def wave_before(own: Environment, cluster: str) -> tuple[str, ...]:
    """Return the clusters of the environment that promote before a cluster of it; none in the first wave."""
    place = wave_of(own, cluster)
    return wave(own, place - 1) if own.waves and place else ()


def siblings_of(own: Environment, cluster: str) -> tuple[str, ...]:
    """Return the other clusters of the environment, where a newer release waits for all of them; else none."""
    is_waited_for = own.after is not None and own.after.newer is Newer.WAIT
    return tuple(each for each in own.clusters if each != cluster) if is_waited_for else ()


def is_followed(own: Environment, cluster: str) -> bool:
    """Return whether another wave of the environment waits for a cluster."""
    return wave_of(own, cluster) < len(own.waves) - 1


def _before(
    environments: Environments, own: Environment, ways: Iterable[Collection[str]], asked: Collection[str]
) -> tuple[str, ...]:
    """Return the clusters of the environments that are ``asked`` about, and that releases come from: of apps in all of
    them, and by the ``ways`` of others, which are the environments that an app is in.
    """
    formers = {name for way in (environments.names, *ways) for name in environments.former(own.name, way)} | {*asked}
    return tuple(cluster for each in environments if each.name in formers for cluster in each.clusters)


@dataclass(frozen=True, slots=True)
class _Offer:
    """What a branch asks for, as its head says."""

    release: Release | None
    by: AskedBy
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Entering:
    """What a branch asks for, with what merging it makes of the app."""

    head: str
    release: Release
    by: AskedBy
    now: Release | None
    """The release that is here."""
    workload: dict[str, Any] | None
    """The workload that the release makes in this environment; None where it fits nothing here."""
    problems: tuple[Problem, ...] = ()
    """Why it does not."""
    beside: tuple[str, ...] = ()
    """Other files that the branch would bring to main; a few of them."""
    is_released: bool = True
    """Whether main has, or had, that release: else somebody wrote it into the branch."""


class EnvironmentInputs:
    """What decisions are told of the environment of this cluster. ``watched_since`` is set by who looks."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.ledgers = FormerLedgers(repository)
        self.watched_since: Callable[[], datetime | None] = lambda: None
        self._generation = -1
        self._places: dict[str, int] = {}
        self._offers: dict[str, tuple[str, _Offer]] = {}
        self._entering: LRUCache[tuple[AppKey, str, str], Entering] = LRUCache(_REMEMBERED)

    def read(self, at: EnvironmentAt, policies: Iterable[Policy]) -> tuple[set[AppOrGroup], bool]:
        """Follow what the environment, and the policies, need of others; return what to look at again, and whether the
        remote is to be asked for something else from now on.
        """
        is_new = self.ledgers.follow(at, {name for rule in proofs_asked_for(policies) for name in rule.from_})
        return self.ledgers.read() | self._read_offers(at.name), is_new

    def _read_offers(self, environment: str) -> set[AppOrGroup]:
        """Read the branches that ask for a release here; return the apps for which they moved."""
        before = self._offers
        if not (environment or before):
            return set()
        tracked = self._repository.mirror.tracked()
        found = dict[str, tuple[str, _Offer]]()
        for branch, commit in tracked.items():
            entry = entry_of_branch(branch)
            if entry is not None and entry[0] == environment:
                known = before.get(branch)
                found[branch] = known if known and known[0] == commit else (commit, self._offered(*entry, commit))
        self._offers = found
        moved = {branch for branch in before.keys() | found.keys() if before.get(branch) != found.get(branch)}
        return {entry[1] for branch in moved if (entry := entry_of_branch(branch))}

    def _offered(self, environment: str, app: AppKey, commit: str) -> "_Offer":
        """Return the release that a branch asks for, where that can be read, and who asks for it."""
        try:  # anybody who may push can make such a branch: it keeps nothing else from being read
            found = self._repository.text_file(release_path(self._repository, app, environment), commit)
            content = found if isinstance(found, bytes) else b""
            release = self._release(content, app) if content else None
            by = self._repository.offers.asked_by(commit)
            if by.by_person and not by.name:
                by = replace(by, name=self._repository.source_of(commit).author)
        except GitopsBgError as error:
            LOGGER.warning("the branch that asks for a release of %s in %s cannot be read: %s", app, environment, error)
            return _Offer(None, AskedBy(by_person=True))
        return _Offer(release, by, content)

    def entering(self, app: AppKey, commit: str, tree: str, now: Release | None) -> Entering | None:
        """Return what the branch of an app asks for, and what that makes of main at a commit, where the app's folder is
        ``tree``; None where there is no branch that can be read.
        """
        known = self._offers.get(entry_branch(self._repository.mirror.environment, app))
        if known is None or known[1].release is None or not tree:
            return None
        head, (release, by, content) = known[0], (known[1].release, known[1].by, known[1].content)
        key = (app, head, tree)
        found = self._entering.get(key)
        if found is None or found.now != now:
            found = self._entering[key] = self._made_of(app, commit, content, Entering(head, release, by, now, None))
        return found

    def _made_of(self, app: AppKey, commit: str, content: bytes, entering: Entering) -> Entering:
        files, places = {**self._repository.files(app, commit), RELEASE_FILE: content}, self._repository.places
        home = self._repository.homes([app], commit).get(app)
        made_by = entering.release.snapshot.source
        config = cpu_limited(
            f"reading what {entering.release.id.name} makes of {app}",
            lambda: load_app(app, files, lambda *_: made_by, folder=places.folder(app), home=home),
        )
        paths = {f"{places.own_folder(app)}/{name}" for name in (OVERLAY_FILE, RELEASE_FILE)}
        problems = tuple(each for each in config.problems if each.file in paths)
        repository, environments = self._repository, self._repository.environment.environments
        path = release_path(repository, app, repository.mirror.environment)
        return replace(
            entering,
            workload=config.workload.value if config.workload is not None else None,
            problems=problems,
            beside=repository.extra_files({path}, entering.head),
            is_released=is_released(repository, app, entering.release, environments),
        )

    def _offer(self, reading: Reading, branch: str) -> OfferedRelease | None:
        """Return what a branch asks for; None where there is none."""
        known = self._offers.get(branch)
        if known is None:
            return None
        release, by = known[1].release, known[1].by
        placed = self._placed(reading, release.id, release.id.commit) if release is not None else None
        is_here = not by.by_person and by.cluster == self._repository.settings.named_cluster
        return OfferedRelease(placed, is_here, by.by_person)

    @staticmethod
    def _release(content: bytes, app: AppKey) -> Release | None:
        return cpu_limited(f"reading the release that a branch asks for, of {app}", lambda: release_in(content, app))

    def of(self, reading: Reading, app: AppKey, entry: AppEntry) -> EnvironmentInput | None:
        """Return what an app's decision is told; None where it is in no environment."""
        at, config = reading.environment, entry.config
        home = self._repository.homes([app], entry.commit).get(app) if config.environment and entry.commit else None
        if home is None:
            return None
        own, release, cluster = home.environment, config.release, self._repository.settings.cluster
        policies = reading.policies.of(app, config.labels, own.name)
        formers = self._formers(app, home, rule_of(home.environments, own, home.folders))
        asked = (
            replace(former, warns=policy.mode is Mode.WARN)
            for policy in policies
            for rule in proofs_asked_for((policy,))
            for former in self._formers(app, home, rule)
        )
        named = named_in(formers)
        entered = None
        if release is not None and formers:
            entered = self._placed(reading, release.id, release.id.commit)
        known = [self._placed(reading, each, commit) for (_, commit), each in named.items()]
        branch = entry_branch(own.name, app)
        is_known = config.spec is not None and (release is not None or not entry.has_target)
        fit = [f"{config.folder}/{own.name}/{name}" for name in (OVERLAY_FILE, RELEASE_FILE)]
        # That the overlay does not fit a release that can be read, a later release may mend.
        problems = (*at.problems, *(each for each in config.problems if not is_known or each.file not in fit))
        return EnvironmentInput(
            own.name,
            self._thresholds(reading, app, config, home),
            formers,
            asked=tuple(asked),
            known=tuple(known),
            entered=entered,
            enter=own.enter,
            newer=(own.after or After()).newer,
            wave_before=tuple(self.ledgers.report(each, app) for each in wave_before(own, cluster)),
            siblings=tuple(self.ledgers.report(each, app) for each in siblings_of(own, cluster)),
            between=int(own.between.total_seconds()),
            asked_by_wave=int(own.between.total_seconds()) if is_followed(own, cluster) else None,
            held=config.spec.held_releases if config.spec is not None else (),
            offered=self._offer(reading, branch),
            unclear=str(problems[0]) if problems else "",
            watched_since=self.watched_since(),
        )

    @staticmethod
    def _thresholds(reading: Reading, app: AppKey, config: AppConfig, home: Home) -> tuple[int, ...]:
        """Return for how many seconds later environments ask a release to serve here, the fewest first: by
        ``environments.yaml``, and by the policies that are for the app there.
        """
        asked = set(home.environments.thresholds(home.name, home.folders))
        for later in home.environments.passed(home.folders):
            policies = reading.policies.of(app, config.labels, later.name) if later.name != home.name else ()
            asked |= {rule.proven for rule in proofs_asked_for(policies) if home.name in rule.from_}
        return tuple(sorted(int(each.total_seconds()) for each in asked))

    def _formers(self, app: AppKey, home: Home, rule: AfterRule) -> tuple[Former, ...]:
        return formers_of(rule, home.environments, home.folders, lambda cluster: self.ledgers.report(cluster, app))

    def _placed(self, reading: Reading, release: ReleaseId, commit: str) -> KnownRelease:
        """Return a release with its place in the present history of main; without one where main lacks its commit."""
        generation = reading.followed.generation
        if generation != self._generation:
            self._generation, self._places = generation, {}
        place = self._places.get(commit)
        if place is None:
            place = self._repository.placed(release).landed
            if place is not None:
                self._places[commit] = place
        return KnownRelease(release, commit, place)

"""Environments: the same app in several clusters, one after another; and releases, which travel from one to the next
(decision 112). ``environments.yaml`` is declared here as it is written (`core.written`); `gitops_bg.spec.environments`
reads it.

Pure, and knows no file and no history: what is proven where, and which release enters, others say.
"""

from collections.abc import Collection, Iterator
from datetime import timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated

from annotated_types import MinLen

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.policy_rules import ProvenIn
from gitops_bg.core.model.version import ConfigurationRef, ReleaseId, Source
from gitops_bg.core.written import Conflict, DnsLabel, Glob, Matching, WrittenAs

RESERVED = frozenset({"app", "target", "primary", "release", "overlay"})
"""Names that no environment has: an app's files are called so."""

_CLUSTER = r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?"
Cluster = Annotated[str, Matching(_CLUSTER, "use the name that the agent has as --cluster: letters, digits, . - and _")]
Globs = Annotated[tuple[Glob, ...], MinLen(1)]


class Enter(StrEnum):
    """How a release comes into an environment."""

    AUTO = "auto"
    """The agent commits it."""
    PULL_REQUEST = "pullRequest"
    """The agent offers it, and people merge that."""


class Newer(StrEnum):
    """What becomes of a release on its way where a newer one could come in."""

    REPLACE = "replace"
    """The newer one takes its place."""
    WAIT = "wait"
    """The newer one waits until the other has ended."""


@dataclass(frozen=True, slots=True)
class After:
    """What a release must have behind it before it enters. Without any of it: that it served in the former one."""

    from_: Annotated[tuple[DnsLabel, ...], MinLen(1), WrittenAs("from")] = ()
    """The environments in which it must be proven, all of them. Default: the one before, of those that the app has."""
    proven: timedelta = timedelta()
    """How long it must have served there, healthy and without a break: 30m, 2h, 1d. Default 0s."""
    proven_in: ProvenIn = ProvenIn.ALL
    """Whether in all clusters of such an environment, or in any."""
    newer: Newer = Newer.REPLACE
    """Whether a newer release takes the place of one that is on its way here, or waits until that has ended."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One environment: some clusters that serve the same release."""

    name: DnsLabel
    """Its name, and that of its folder in the folder of each app."""
    clusters: Annotated[tuple[Cluster, ...], MinLen(1)]
    """The clusters of it: each agent's --cluster."""
    after: After | None = None
    """What a release must have behind it; not of the first."""
    enter: Enter = Enter.AUTO
    """Whether a release comes in by a commit of the agent, or by a pull request that people merge."""
    auto_promotion_enabled: bool | None = None
    """Whether live traffic follows by itself; where absent, what app.yaml says."""
    waves: Annotated[tuple[Globs, ...], MinLen(1)] = ()
    """Which clusters promote first, then which: lists of names or patterns; a cluster is of the first that fits it."""
    between: timedelta = timedelta()
    """How long a version must be proven in one wave before the next one follows. Default 0s: until it has settled."""


@dataclass(frozen=True, slots=True)
class Environments:
    """``environments.yaml``: the environments of a repository, in order."""

    environments: Annotated[tuple[Environment, ...], MinLen(1)] = ()
    """The environments, the first one first. An app passes those for which it has a folder."""

    def __bool__(self) -> bool:
        """Return whether the repository has environments at all."""
        return bool(self.environments)

    def __iter__(self) -> Iterator[Environment]:
        """Yield the environments, in order."""
        return iter(self.environments)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all, in order."""
        return tuple(each.name for each in self.environments)

    def named(self, name: str) -> Environment | None:
        """Return the environment of a name; None where there is none."""
        return next((each for each in self.environments if each.name == name), None)

    def of_cluster(self, cluster: str) -> Environment | None:
        """Return the environment of a cluster; None where none names it."""
        return next((each for each in self.environments if cluster in each.clusters), None)

    def passed(self, folders: Collection[str]) -> tuple[Environment, ...]:
        """Return the environments that an app passes, in order, by the names of the folders in its own."""
        return tuple(each for each in self.environments if each.name in folders)

    def is_first(self, name: str, folders: Collection[str]) -> bool:
        """Return whether an environment is the first one of an app with these folders: its target is the release."""
        passed = self.passed(folders)
        return bool(passed) and passed[0].name == name

    def former(self, name: str, folders: Collection[str]) -> tuple[str, ...]:
        """Return the environments in which a release must be proven before it enters ``name``, for an app with these
        folders: what ``after.from`` says, also those that the app lacks (`lacking`); else the one before that it has.

        Empty for the app's first environment, and for one that the app or the repository lacks.
        """
        passed = [each.name for each in self.passed(folders)]
        environment = self.named(name)
        if environment is None or name not in passed[1:]:
            return ()
        if environment.after is not None and environment.after.from_:
            return environment.after.from_
        return (passed[passed.index(name) - 1],)

    def lacking(self, name: str, folders: Collection[str]) -> tuple[str, ...]:
        """Return the environments of `former` for which the app has no folder: nothing is ever proven there."""
        return tuple(each for each in self.former(name, folders) if each not in folders)

    def following(self, name: str, folders: Collection[str]) -> tuple[Environment, ...]:
        """Return the environments into which a release comes that is proven in ``name``, of an app with these
        folders.
        """
        return tuple(each for each in self.passed(folders) if name in self.former(each.name, folders))

    def thresholds(self, name: str, folders: Collection[str]) -> tuple[timedelta, ...]:
        """Return for how long later environments ask a release to be proven in ``name``, the shortest first; empty
        where none asks. The last one is the longest.
        """
        return tuple(sorted({(each.after or After()).proven for each in self.following(name, folders)}))


NO_ENVIRONMENTS = Environments()


def wave_of(environment: Environment, cluster: str) -> int:
    """Return the wave of a cluster, counted from 0; 0 for all where the environment has none.

    >>> prod = Environment("prod", ("canary-1", "eu-1", "us-1"), waves=(("canary-*",), ("eu-*", "us-*")))
    >>> [wave_of(prod, cluster) for cluster in prod.clusters]
    [0, 1, 1]
    """
    found = (
        place for place, globs in enumerate(environment.waves) if any(fnmatchcase(cluster, each) for each in globs)
    )
    return next(found, 0)


def wave(environment: Environment, number: int) -> tuple[str, ...]:
    """Return the clusters of a wave."""
    return tuple(each for each in environment.clusters if wave_of(environment, each) == number)


# --- what is wrong with environments.yaml beyond its single fields ---


def faults(environments: Environments) -> Iterator[Conflict]:
    """Yield every contradiction between its fields, each with the dotted path of the field."""
    seen: dict[str, int] = {}
    homes: dict[str, str] = {}
    for place, each in enumerate(environments):
        at = f"environments.{place}"
        if each.name in RESERVED:
            remedy = "call it otherwise, such as prod"
            yield Conflict(f"{at}.name", f"{each.name} is the name of a file of each app", remedy)
        if each.name in seen:
            message = f"{each.name} is also the name of environment {seen[each.name] + 1}"
            yield Conflict(f"{at}.name", message, "rename one of the two")
        yield from _faults_of_after(each, place, seen, environments.names)
        for number, cluster in enumerate(each.clusters):
            if cluster in homes:
                where = "twice" if homes[cluster] == each.name else f"in {homes[cluster]}, too"
                message, remedy = f"{cluster} is named {where}", "name each cluster once: it is in one environment"
                yield Conflict(f"{at}.clusters.{number}", message, remedy)
            homes[cluster] = each.name
        yield from _faults_of_waves(each, at)
        seen.setdefault(each.name, place)


def _faults_of_after(
    environment: Environment, place: int, before: Collection[str], names: Collection[str]
) -> Iterator[Conflict]:
    after, at = environment.after, f"environments.{place}.after"
    if after is None:
        return
    if place == 0:
        message = f"{environment.name} is the first environment, and nothing comes before it"
        yield Conflict(at, message, "remove it, or move the environment below the one that it follows")
        return
    for number, name in enumerate(after.from_):
        field, choice = f"{at}.from.{number}", f"name one that comes before: {', '.join(before)}"
        if name == environment.name:
            yield Conflict(field, f"{name} is this environment itself", choice)
        elif name not in names:
            yield Conflict(field, f"there is no environment {name}", choice)
        elif name not in before:
            message = f"{name} comes after {environment.name}, so that each would wait for the other"
            yield Conflict(field, message, f"{choice}; or change the order of the environments")
        elif name in after.from_[:number]:
            yield Conflict(field, f"{name} is named twice", "remove one of the two")


def _faults_of_waves(environment: Environment, at: str) -> Iterator[Conflict]:
    if not environment.waves:
        if environment.between:
            yield Conflict(f"{at}.between", "means nothing without waves", "add waves, or remove it")
        return
    for number, globs in enumerate(environment.waves):
        for item, glob in enumerate(globs):
            if not _fits(environment, glob):
                message = f"{glob} fits none of the clusters of {environment.name}"
                yield Conflict(f"{at}.waves.{number}.{item}", message, f"they are {', '.join(environment.clusters)}")
        if environment.clusters and not wave(environment, number) and all(_fits(environment, glob) for glob in globs):
            message = f"has no cluster: what {', '.join(globs)} fits is in a wave before"
            yield Conflict(
                f"{at}.waves.{number}", message, "remove it, or move it before the one that takes its clusters"
            )
    fitting = [glob for globs in environment.waves for glob in globs]
    left = [each for each in environment.clusters if not any(fnmatchcase(each, glob) for glob in fitting)]
    if left:
        message = f"{', '.join(left)} {'is' if len(left) == 1 else 'are'} in no wave"
        yield Conflict(f"{at}.waves", message, 'name each cluster, or end with ["*"]')


def _fits(environment: Environment, glob: str) -> bool:
    return any(fnmatchcase(cluster, glob) for cluster in environment.clusters)


# --- releases ---


@dataclass(frozen=True, slots=True)
class ReleaseSnapshot:
    """One release: the base of an app, before anything of an environment comes to it."""

    id: ReleaseId
    source: Source
    """The commit that brought it to main."""
    target: str
    """Canonical JSON of the workload in ``target.yaml``, without what only its author reads (annotations)."""
    configuration: tuple[ConfigurationRef, ...] = ()
    """The shared ConfigMaps and Secrets that its pod template refers to, sorted."""

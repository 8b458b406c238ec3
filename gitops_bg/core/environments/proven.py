"""What is known of the way of releases through environments: what is proven where, as the agents say that saw it, and
what of it one environment asks for. Pure data (decision 113).

A release is proven by the agent of the cluster where it serves, and by nobody else: others read that in its ledger.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import field, replace
from datetime import datetime

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import After as Entry
from gitops_bg.core.environments.model import Enter, Environment, Environments, Newer
from gitops_bg.core.model.policy_rules import After, ProvenIn
from gitops_bg.core.model.version import ReleaseId

MOST_PROVEN = 20
"""How many releases a record remembers as proven, and a ledger says: the newest."""


@dataclass(frozen=True, slots=True)
class ProvenRelease:
    """A release that served live traffic in one cluster, healthy and without a break."""

    release: ReleaseId
    seconds: int
    """For how long, of what later environments ask for: the longest that it reached."""
    version: str
    """The digest of the version that served it."""
    since: datetime
    """When its time began to count; of this cluster's clock, and never compared with another one's."""
    at: datetime
    """When that was so."""
    source_commit: str = ""
    """The commit that brought the release. The same content that comes again later, as by a revert, is proven anew."""

    def is_of(self, release: str, commit: str) -> bool:
        """Return whether it is of the release with this digest that this commit brought."""
        return (self.release.digest, self.source_commit) == (release, commit)


@dataclass(frozen=True, slots=True)
class Proving:
    """How long the serving version has served without a break, and what was proven before. The clock runs while
    ``since`` is set.
    """

    version: str = ""
    """The digest of the version whose time counts; empty while none does."""
    began: datetime | None = None
    """When it began to count."""
    since: datetime | None = None
    """Since when the clock runs; None while it stands still."""
    seconds: int = 0
    """What had counted by then."""
    proven: tuple[ProvenRelease, ...] = ()
    """What was proven in this cluster, oldest first."""

    def counted(self, now: datetime) -> int:
        """Return the seconds that count by ``now``."""
        return self.seconds + (max(0, int((now - self.since).total_seconds())) if self.since else 0)

    def longest(self, release: str, commit: str, version: str = "") -> int:
        """Return for how many seconds a release is proven, by its digest and the commit that brought it, in one
        ``version`` or in any; -1 where it is not.
        """
        proofs = (each for each in self.proven if each.is_of(release, commit) and version in ("", each.version))
        return max((each.seconds for each in proofs), default=-1)

    def with_proof(self, proof: ProvenRelease) -> "Proving":
        """Return a copy in which a release is proven."""
        key = (proof.release.digest, proof.source_commit, proof.version)
        others = [each for each in self.proven if (each.release.digest, each.source_commit, each.version) != key]
        return replace(self, proven=(*others, proof)[-MOST_PROVEN:])


@dataclass(frozen=True, slots=True)
class RefusedRelease:
    """A release that somebody keeps out of this environment, who closed the pull request that asks for it."""

    release: ReleaseId
    why: str


# --- what an environment is told of those before it ---


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """What the ledger of another cluster says of an app."""

    cluster: str
    proven: tuple[ProvenRelease, ...] = ()
    serves: ReleaseId | None = None
    serves_of: str = ""
    """The commit that brought that."""
    since: datetime | None = None
    """When live traffic came to it."""
    written: datetime | None = None
    """When its agent wrote last, by its own clock. One writes only when something happens."""
    trouble: str = ""
    """Why nothing of it counts: it cannot be read, it is gone, nobody can prove who wrote it."""


@dataclass(frozen=True, slots=True)
class Former:
    """An environment in which a release has to be proven before it comes here."""

    name: str
    seconds: int
    """For how long it has to serve there."""
    clusters: tuple[ClusterReport, ...] = ()
    in_any: bool = False
    """Whether one of its clusters is enough."""
    warns: bool = False
    """Whether only a policy that warns asks for it: then it keeps nothing out."""


@dataclass(frozen=True, slots=True)
class KnownRelease:
    """A release with the commit that brought it, and its place among others."""

    id: ReleaseId
    commit: str
    landed: int | None = None
    """The position of its commit in main's own line (`Source.landed`); None where main does not have it."""


@dataclass(frozen=True, slots=True)
class OfferedRelease:
    """What the branch has that asks for a release in this environment: all clusters of it share that branch."""

    release: KnownRelease | None = None
    """None where nobody can read it."""
    here: bool = False
    """Whether the agent of this cluster made its head."""
    by_person: bool = False
    """Whether its head is by no agent, or passes by an environment because a person says so (`Bg-Skipped`)."""

    def is_of(self, release: KnownRelease) -> bool:
        """Return whether it asks for this release."""
        return self.release is not None and self.release.id.digest == release.id.digest


@dataclass(frozen=True, slots=True)
class EnvironmentInput:
    """An app's environment, and what the ledgers of those before it say."""

    name: str
    thresholds: tuple[int, ...] = ()
    """For how many seconds later environments ask a release to serve here, the fewest first; empty: none asks."""
    formers: tuple[Former, ...] = ()
    """Empty for the first environment of the app: its release is what main has."""
    asked: tuple[Former, ...] = ()
    """The environments in which policies ask that a release is proven, too."""
    wave_before: tuple[ClusterReport, ...] = ()
    """The clusters of this environment that promote a version before this one; empty in the first wave."""
    siblings: tuple[ClusterReport, ...] = ()
    """The other clusters of this environment, where newer releases wait until it has proven the one that is here."""
    between: int = 0
    """For how many seconds a version must have served in each of them."""
    asked_by_wave: int | None = None
    """For how many seconds the next wave asks each version to serve here; None where there is none."""
    known: tuple[KnownRelease, ...] = ()
    """The releases that are named here, as main has them."""
    entered: KnownRelease | None = None
    """What ``release.yaml`` has; None where nothing came in yet."""
    enter: Enter = Enter.AUTO
    newer: Newer = Newer.REPLACE
    held: tuple[tuple[str, str], ...] = ()
    """The releases that a file of the app holds back everywhere, by their digests, each with why."""
    offered: OfferedRelease | None = None
    """What the branch that asks for a release here has; None where there is no branch."""
    unclear: str = ""
    """Why nothing may come in: a mistake of the repository, or of the app. Empty where it may."""
    watched_since: datetime | None = field(default=None)
    """Since when this process has looked at the cluster without a break; None: it cannot look now."""


def newest_first(releases: Iterable[KnownRelease]) -> list[KnownRelease]:
    """Return those of them whose commits main has, the newest first; of one commit, the higher number."""
    there = (each for each in releases if each.landed is not None)
    return sorted(there, key=lambda each: (each.landed or 0, each.id), reverse=True)


def rule_of(environments: Environments, own: Environment, folders: Collection[str]) -> After:
    """Return what an environment asks of a release of an app, as the rule of a policy: its ``after`` is another way to
    write one. Without environments for the app's first one.
    """
    after = own.after or Entry()
    return After(from_=environments.former(own.name, folders), proven=after.proven, proven_in=after.proven_in)


def formers_of(
    rule: After, environments: Environments, folders: Collection[str], report: Callable[[str], ClusterReport]
) -> tuple[Former, ...]:
    """Return what the environments say in which a rule asks that a release of an app is proven. One that the app, or
    the repository, lacks has no clusters: nothing is ever proven there.
    """
    found = list[Former]()
    for name in rule.from_:
        environment = environments.named(name) if name in folders else None
        reports = tuple(report(cluster) for cluster in environment.clusters) if environment is not None else ()
        found.append(Former(name, int(rule.proven.total_seconds()), reports, rule.proven_in is ProvenIn.ANY))
    return tuple(found)


def named_in(formers: Iterable[Former]) -> dict[tuple[str, str], ReleaseId]:
    """Return the releases that ledgers name, by digest and commit; the number is that of the first that has one."""
    found = dict[tuple[str, str], ReleaseId]()

    def add(release: ReleaseId, commit: str) -> None:
        known = found.get((release.digest, commit))
        if commit and (known is None or not known.number):
            found[release.digest, commit] = release

    for former in formers:
        for report in former.clusters:
            for proof in report.proven:
                add(proof.release, proof.source_commit)
            if report.serves is not None:
                add(report.serves, report.serves_of)
    return found

"""The nouns of DESIGN §2: app and release group, color, stage, snapshot, release, version; and the life of a version as
one table: an event, and the stage that it leads to.

Nothing else changes a stage; a transition that is not in the table raises. docs/architecture/stages.md draws it.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.written import Labels


class SubjectKind(StrEnum):
    """What a subject is."""

    APP = "app"
    GROUP = "group"


@dataclass(frozen=True, slots=True, order=True)
class AppKey:
    """One app: a namespace and a name, as in ``apps/<namespace>/<app>/``."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def kind(self) -> SubjectKind:
        """That it is an app."""
        return SubjectKind.APP


@dataclass(frozen=True, slots=True, order=True)
class GroupKey:
    """One release group: a namespace and a name, as in ``groups/<namespace>/<group>/``."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def kind(self) -> SubjectKind:
        """That it is a release group."""
        return SubjectKind.GROUP


AppOrGroup = AppKey | GroupKey
"""Two of the same name are never equal, and there is no order between them: sort by `names.promotion_branch`."""


@dataclass(frozen=True, slots=True, order=True)
class EntryKey:
    """What asks for releases of one app in one environment, beside what asks for versions of the app."""

    app: AppKey
    environment: str

    def __str__(self) -> str:
        return f"{self.app} into {self.environment}"


PullSubject = AppOrGroup | EntryKey
"""Whose pull request it is: each has one branch."""


class Color(StrEnum):
    """The two names by which people tell stacks apart; the digest decides, never the color."""

    BLUE = "blue"
    GREEN = "green"

    @property
    def other(self) -> "Color":
        """The other color."""
        return Color.GREEN if self is Color.BLUE else Color.BLUE


class Stage(StrEnum):
    """Where a version is in its life: candidate → active → legacy → archived."""

    CANDIDATE = "candidate"
    ACTIVE = "active"
    LEGACY = "legacy"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Source:
    """The commit that brought a template: where it came from, and when it came into main."""

    commit: str
    author: str = ""
    date: datetime | None = None
    subject: str = ""
    landed: int | None = None
    """The position in main's own line of the commit that brought it in, counted from 1; later is more (decision 18).

    Positions of one reading of main compare with each other only. None where the position is unknown.
    """

    def landed_after(self, other: "Source") -> bool | None:
        """Return whether this came into main after ``other``; False if one commit brought both, None where that is
        unknown.

        >>> Source("b", landed=2).landed_after(Source("a", landed=1)), Source("b").landed_after(Source("a", landed=1))
        (True, None)
        """
        known = self.landed is not None and other.landed is not None
        return self.landed > other.landed if known else None  # type: ignore[operator]


@dataclass(frozen=True, slots=True, order=True)
class ConfigurationRef:
    """One ConfigMap or Secret of a version: its name in Git, and the digest of its content."""

    kind: str
    name: str
    digest: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, order=True)
class ServicePorts:
    """The ports of one Service: its name, and the JSON of its ``spec.ports`` as written in Git."""

    service: str
    ports: str


class WorkloadKind(StrEnum):
    """What runs the pods of a version (decision 68)."""

    REPLICA_SET = "ReplicaSet"
    """As many pods as the agent says."""
    DAEMON_SET = "DaemonSet"
    """One pod on every node that the template chooses; the agent says only whether."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One immutable pod template with the configuration it uses, and the digest of both (``core.model.digest``)."""

    digest: str
    text: str
    """Canonical JSON of the pod template as written in Git; empty where only the digest is known."""
    configuration: tuple[ConfigurationRef, ...] = ()
    """The ConfigMaps and Secrets of the app's folder that the template refers to, sorted. Never their content."""
    workload: WorkloadKind = WorkloadKind.REPLICA_SET
    """What runs the pods; part of the digest where it is no ReplicaSet."""


RELEASE_PREFIX = "r1:"
"""What the digests of releases begin with; those of versions have a prefix of their own (``core.model.digest``)."""

_WRITTEN = re.compile(r"r(0|[1-9][0-9]{0,9}) (r[0-9]+:[0-9a-f]{10,})")


@dataclass(frozen=True, slots=True, order=True)
class ReleaseId:
    """Which release a version is of."""

    number: int
    """That of the first version of the app's first environment that had it; 0 while there is none."""
    digest: str
    """`RELEASE_PREFIX` and the SHA-256 of what the release has (`spec.environments.release`)."""
    commit: str = ""
    """The commit of main that brought it to the app's base: the same content that comes again later is another release
    on its way.
    """

    @property
    def name(self) -> str:
        """Its name for people.

        >>> ReleaseId(12, "r1:3f9c0123456789").name, ReleaseId(0, "r1:3f9c0123456789").name
        ('r12', 'r 3f9c012345')
        """
        return f"r{self.number}" if self.number else f"r {self.digest.rpartition(':')[2][:10]}"

    def __str__(self) -> str:
        """Return it as the trailers of commits have it: ``r12 r1:3f9c…``."""
        return f"r{self.number} {self.digest}"


def release_id(text: str) -> ReleaseId | None:
    """Return the release that a trailer names; None where it names none.

    >>> release_id("r12 r1:3f9c012345"), release_id("v12 v1:3f9c012345")
    (ReleaseId(number=12, digest='r1:3f9c012345', commit=''), None)
    """
    found = _WRITTEN.fullmatch(text.strip())
    return ReleaseId(int(found[1]), found[2]) if found else None


@dataclass(frozen=True, slots=True)
class AntiAffinityTerm:
    """The version whose nodes new pods avoid: strictly, or, with a ``weight`` of 1 to 100, where possible."""

    digest: str
    weight: int | None = None


@dataclass(frozen=True, slots=True)
class PodMetadata:
    """Labels and annotations that pods carry while their version has a role."""

    labels: Labels = ()
    """Labels; none of the target's selector."""
    annotations: Labels = ()
    """Annotations."""

    def __str__(self) -> str:
        """Return the metadata as it stands in a sentence.

        >>> str(PodMetadata((("role", "active"),))), str(PodMetadata())
        ('role=active', 'no metadata of a role')
        """
        return ", ".join(f"{key}={value}" for key, value in self.labels + self.annotations) or "no metadata of a role"


NO_METADATA = PodMetadata()


@dataclass(frozen=True, slots=True)
class Stabilization:
    """The state of a promoted version until it is proven (``core.transitions.verdicts``)."""

    pods: int
    """How many pods were available when traffic moved to it."""
    since: datetime
    """Since when it has had that many pods, or, where it is ``unready``, fewer."""
    unready: bool = False


@dataclass(frozen=True, slots=True)
class Retirement:
    """The retirement of a version that nothing wants: its pods stay for a while, then it is archived."""

    since: datetime
    """How long it stays follows from this and the present spec (``core.checks.versions.warm_until``)."""
    aborted: bool = False
    """An abort retired it: it stays for ``abortScaleDownDelaySeconds``, not for ``scaleDownDelaySeconds``."""


def short(digest: str) -> str:
    """Return the first ten hex digits of a digest, as names and labels carry them.

    >>> short("v1:3f9c0123456789abcdef")
    '3f9c012345'
    """
    return digest.rpartition(":")[2][:10]


def version_name(number: int | None, digest: str, tag: str = "") -> str:
    """Return the name of a version in every sentence, title and table: the tag of its image first, where that is known.

    >>> version_name(7, "v1:3f9c0123456789", "1.1.0"), version_name(7, "v1:3f9c0123456789"), version_name(7, "")
    ('1.1.0 (v7)', 'v7 (3f9c012345)', 'v7')
    """
    first, second, *_ = [*filter(None, (tag, f"v{number}" if number else "", short(digest))), "", ""]
    return f"{first} ({second})" if second else first


@dataclass(frozen=True, slots=True)
class Version:
    """A snapshot with a number and a life, as the record remembers it. Times are UTC.

    ``activated_at`` is None as long as the version never carried live traffic.
    """

    number: int
    snapshot: Snapshot
    color: Color
    stage: Stage
    source: Source
    rollout: int
    rollout_started_at: datetime
    available_since: datetime | None = None
    waiting_since: datetime | None = None
    """Since when its rollout has made no progress; the progress deadline counts from here."""
    activated_at: datetime | None = None
    routed_at: datetime | None = None
    """Since when the endpoints of the active Service are exactly its pods (``core.transitions.switching``)."""
    left_at: datetime | None = None
    retirement: Retirement | None = None
    """Set while nothing wants it: superseded, cancelled, aborted or left by traffic."""
    arrived: int = 0
    """Its place among the versions by when traffic last came to them: the latest has the highest; 0 where that is
    unknown.
    """
    stabilization: Stabilization | None = None
    """Set by a promotion; None once the version is proven, and for every version that is not active."""
    unproven: bool = False
    """Traffic left it before it was proven: an abort prefers versions that were."""
    failure: str = ""
    """Why its rollout is considered failed (for example the progress deadline); empty while it is not."""
    ports: tuple[ServicePorts, ...] = ()
    """The ports that it was last served with, where they differ from those of its template (``core.checks.ports``)."""
    tag: str = ""
    """The tag of its first image, by which its author knows it, also once its template is forgotten; empty where that
    has none.
    """
    release: ReleaseId | None = None
    """The release that it serves; None where the repository has no environments."""
    prepared: bool = False
    """Its Jobs before the pods have succeeded (``spec.jobs.beforePods``): they run no more."""
    contracted: bool = False
    """So have its Jobs after settling (``spec.jobs.afterSettled``)."""

    @property
    def digest(self) -> str:
        """The full digest, which identifies the version."""
        return self.snapshot.digest

    @property
    def name(self) -> str:
        """Its name for people."""
        return version_name(self.number, self.digest, self.tag)

    @property
    def on_every_node(self) -> bool:
        """Whether a DaemonSet runs it, whose size is the cluster's to say."""
        return self.snapshot.workload is WorkloadKind.DAEMON_SET

    @property
    def retiring(self) -> bool:
        """Whether it is being retired."""
        return self.retirement is not None

    @property
    def aborted(self) -> bool:
        """Whether an abort retired it."""
        return self.retirement is not None and self.retirement.aborted

    @property
    def was_active(self) -> bool:
        """Whether it ever carried live traffic."""
        return self.activated_at is not None


UNKNOWN = None
"""The stage of a version that the record does not know: not yet, or no longer."""


class StageEvent(StrEnum):
    """An event that may change the stage of a version."""

    WANTED = "wanted"
    """Git names it, and it has to pass every gate: a new rollout."""
    FOUND = "found"
    """The record was lost, and a ReplicaSet exists that the ledger does not know to have served."""
    FOUND_AGAIN = "found again"
    """The record was lost, and a ReplicaSet exists that the ledger knows to have served."""
    RECALLED = "recalled"
    """Traffic is to go to it, or stay with it, and only the gate of its pods counts: it is kept, and scaled
    up first.
    """
    TRAFFIC_CAME = "traffic came"
    TRAFFIC_LEFT = "traffic left"
    EXPIRED = "delay is over"
    """Nothing wants it, and its scale-down delay is over: it goes to 0 pods."""
    FORGOTTEN = "forgotten"


NEXT: Mapping[tuple[Stage | None, StageEvent], Stage | None] = {
    (UNKNOWN, StageEvent.WANTED): Stage.CANDIDATE,
    (UNKNOWN, StageEvent.FOUND): Stage.CANDIDATE,
    (UNKNOWN, StageEvent.FOUND_AGAIN): Stage.LEGACY,
    (Stage.CANDIDATE, StageEvent.WANTED): Stage.CANDIDATE,
    (Stage.CANDIDATE, StageEvent.RECALLED): Stage.CANDIDATE,
    (Stage.CANDIDATE, StageEvent.TRAFFIC_CAME): Stage.ACTIVE,
    (Stage.CANDIDATE, StageEvent.EXPIRED): Stage.ARCHIVED,
    (Stage.ACTIVE, StageEvent.RECALLED): Stage.ACTIVE,
    (Stage.ACTIVE, StageEvent.TRAFFIC_CAME): Stage.ACTIVE,
    (Stage.ACTIVE, StageEvent.TRAFFIC_LEFT): Stage.LEGACY,
    (Stage.LEGACY, StageEvent.TRAFFIC_CAME): Stage.ACTIVE,
    (Stage.LEGACY, StageEvent.WANTED): Stage.CANDIDATE,
    (Stage.LEGACY, StageEvent.RECALLED): Stage.LEGACY,
    (Stage.LEGACY, StageEvent.EXPIRED): Stage.ARCHIVED,
    (Stage.ARCHIVED, StageEvent.RECALLED): Stage.LEGACY,
    (Stage.ARCHIVED, StageEvent.WANTED): Stage.CANDIDATE,
    (Stage.ARCHIVED, StageEvent.FORGOTTEN): UNKNOWN,
}


class ImpossibleStage(AssertionError):
    """A bug: an event happened to a version that cannot happen in its stage."""


def stage_after(stage: Stage | None, event: StageEvent) -> Stage:
    """Return the stage of a version after ``event``. Raises `ImpossibleStage` where the table has no such transition.

    >>> stage_after(Stage.LEGACY, StageEvent.TRAFFIC_CAME)
    <Stage.ACTIVE: 'active'>
    """
    after = NEXT.get((stage, event))
    if after is None:
        raise ImpossibleStage(f"{event} cannot happen to a version that is {stage or 'unknown'}")
    return after


def can(stage: Stage, event: StageEvent) -> bool:
    """Return whether ``event`` can happen to a version in this stage."""
    return (stage, event) in NEXT


NOT_STORED = {"stored": False}
"""The metadata of a field that only people read, at the time it is made."""

"""What promotion policies are judged by, as plain data, and the verdicts. Unknown facts have an explicit value.

The core builds these from a world; tests and replays write them down.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.proven import Former, KnownRelease
from gitops_bg.core.model.policy_rules import OF_THE_VERSION, Mode, PoliciesThen, Policy, Proof
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from gitops_bg.core.written import Labels

_CLOCKS_DIFFER = timedelta(minutes=10)
"""How far ahead a clock may be: who commits chooses the date, which must not prolong the approval."""


@dataclass(frozen=True, slots=True)
class Person:
    """The author or committer of a commit, as Git has it."""

    name: str = ""
    email: str = ""

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>" if self.email else self.name


@dataclass(frozen=True, slots=True)
class SignedBy:
    """Who signed a commit, by the signers and people in main. Times are UTC."""

    name: str = ""
    """The person, by the name that policies use; empty where the signature counts for nobody."""
    why_not: str = ""
    """Why the signature counts for nobody; empty where it counts."""
    expires: datetime | None = None
    """When the key expires; None: never."""


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """One commit of main's history, with its whole message."""

    commit: str
    author: Person = Person()
    committer: Person = Person()
    at: datetime | None = None
    message: str = ""
    trailers: tuple[tuple[str, str], ...] = ()
    signed: SignedBy | None = None
    """None: not read, because no policy asks for it."""

    def trailer(self, name: str) -> tuple[str, ...]:
        """Return the values of a trailer; the case of its name does not matter."""
        return tuple(value for key, value in self.trailers if key.lower() == name.lower())


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody approved a digest."""

    by: str
    digest: str
    at: datetime
    proof: Proof = Proof.FORGE
    groups: frozenset[str] = frozenset()
    void: str = ""
    """Why it counts for no rule; empty where it may count."""
    objection: bool = False
    """Whether it is the opposite: the person asks for changes, which takes back what they approved before."""
    may_be: frozenset[str] = frozenset()
    """The people of people.yaml who may own the account that approved: it has an owner by its login only."""

    @property
    def people(self) -> frozenset[str]:
        """Whoever may have approved."""
        return self.may_be | {self.by}

    def untimely(self, now: datetime) -> str:
        """Return why it counts for no rule at this time; empty where it may count."""
        is_ahead = self.proof is not Proof.FORGE and self.at > now + _CLOCKS_DIFFER
        return f"the approval of {self.by} is dated in the future" if is_ahead else ""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another app, or a release group, as this process last saw it."""

    who: AppOrGroup
    labels: Labels = ()
    """Of an app: the labels of the metadata of ``target.yaml``."""
    healthy_since: datetime | None = None
    """None while it is not healthy."""
    phase: str = ""
    digest: str = ""
    """The digest of the active version."""
    number: int = 0
    label: str = ""
    """The version label of the active version's template: ``app.kubernetes.io/version``, else the tag of its image."""
    moving: bool = False
    """Whether it is between its promotion and the end of its analysis."""
    queued: tuple[int, str] | None = None
    """Its place in the queue, if it waits to begin: the position of its merge in main; lower is first."""
    services: tuple[tuple[AppKey, Labels], ...] = ()
    """Of a group: the services that move with it, each with its labels."""

    @property
    def apps(self) -> tuple[tuple[AppKey, Labels], ...]:
        """What policies may be for, each with its labels: an app itself, or the services of a group."""
        return self.services if isinstance(self.who, GroupKey) else ((self.who, self.labels),)

    def __str__(self) -> str:
        return f"group {self.who}" if isinstance(self.who, GroupKey) else str(self.who)


@dataclass(frozen=True, slots=True)
class Others:
    """What rules ask about other apps and release groups."""

    peers: Mapping[AppOrGroup, Peer] = field(default_factory=dict)
    """Those that rules name, and those that move or wait for their turn, as far as this process has looked at them."""
    not_looked_at: int = 0
    """How many this process has not looked at yet, if a rule counts them."""


NO_OTHERS = Others()


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """A version that traffic could move to, or the active one."""

    digest: str
    number: int = 0
    label: str = ""
    images: tuple[str, ...] | None = None
    """None: unknown."""
    source: CommitFacts | None = None
    """None: unknown."""
    source_commit: str = ""


@dataclass(frozen=True, slots=True)
class PastMove:
    """A past movement of live traffic."""

    at: datetime
    digest: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """Everything that rules ask about one version of one app."""

    app: AppKey
    to: VersionFacts
    serving: VersionFacts | None = None
    """None: no version serves; this is the first deployment."""
    labels: Labels = ()
    annotations: Labels = ()
    available_since: datetime | None = None
    promoted: bool = False
    """Whether ``primary.yaml`` names it, or, of a group, ``group.yaml`` its version."""
    promotion: CommitFacts | None = None
    """The commit that promoted it; None if there is none yet, or if it is unknown."""
    queue: tuple[int, str] = (0, "")
    """Its own place in the queue of apps and groups that wait to begin."""
    has_begun: bool = False
    """Whether it is on its way already: it has had its turn."""
    others: Others = NO_OTHERS
    promotions: tuple[PastMove, ...] = ()
    """Newest first."""
    rollbacks: tuple[PastMove, ...] = ()
    approvals: tuple[Approval, ...] | None = None
    """None: unknown who approved."""
    authors: frozenset[str] | None = None
    """The authors of what is promoted; None: unknown."""
    merger: str | None = None
    """Who merged its promotion into main; None: nobody yet, or unknown."""
    merge: Approval | None = None
    """The same as an approval, which rules with proof merge count; None: nobody yet, or unknown."""
    promoted_by_agent: bool = False
    """Whether the agent promotes by itself, so that no person would."""
    unheard: str = ""
    """Why one of these is unknown or may be outdated; empty if all of it is fresh."""
    group: GroupKey | None = None
    """The release group that it is promoted with; None for an app that is promoted by itself."""
    environment: str = ""
    """The environment of the app; empty where the repository has none."""
    release: KnownRelease | None = None
    """The release that it is of, in an environment; None: unknown."""
    formers: tuple[Former, ...] = ()
    """The environments in which rules ask that it is proven, as their ledgers say."""
    entry: CommitFacts | None = None
    """The commit that let the release into the environment; None: there is none, or it is unknown."""
    served: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By environment, the images that serve or served there; without those that nobody can tell."""

    @property
    def who(self) -> AppOrGroup:
        """What is promoted."""
        return self.group or self.app


@dataclass(frozen=True, slots=True)
class Overriding:
    """Somebody's promotion in spite of a policy that permits them this."""

    policy: str
    by: str
    reason: str
    commit: str
    proof: Proof = Proof.MERGE


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """The result of one rule of one policy."""

    policy: str
    rule: str
    """The name of its field in the file; ``policy`` for a result on the whole policy."""
    open: bool
    reason: str = ""
    until: datetime | None = None
    """When time alone opens it, or, while it is open, may shut it; None where that is unknown."""
    mode: Mode = Mode.ENFORCE
    overriding: Overriding | None = None
    """Set if the rule is shut, and counts as open because of this."""
    remedy: str = ""
    unknown: bool = False
    """Whether it is shut only because a fact is unknown."""

    @property
    def holds(self) -> bool:
        """Whether it keeps traffic from moving."""
        return not self.open and self.mode is Mode.ENFORCE and self.overriding is None


def _left_of(then: Policy, now: Policy | None) -> Policy:
    """Return what a policy required of the version and no longer requires."""
    asked = now.rules if now and now.mode is then.mode else ()
    rules = tuple(each for each in then.rules if isinstance(each, OF_THE_VERSION) and each not in asked)
    return replace(then, rules=rules)


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """What an app gets of the policies: those that match it, and the facts that they ask for."""

    policies: tuple[Policy, ...] = ()
    """The policies of the newest main, by name."""
    then: PoliciesThen | None = None
    """The policies at the promotion of the version that traffic waits to move to; None where they were not read."""
    beside: tuple[str, ...] = ()
    """Files besides the app's ``primary.yaml`` that the promotion branch would bring to main; a few of them."""
    problems: tuple[str, ...] = ()
    """Errors in files of ``policies/`` that are or may be for this app; their last valid content stays in force."""
    labels: Labels = ()
    """The labels of the metadata of ``target.yaml``."""
    annotations: Labels = ()
    commits: tuple[CommitFacts, ...] = ()
    """The commits that rules ask about, as far as they could be read."""
    others: Others = NO_OTHERS
    approvals: tuple[Approval, ...] | None = None
    authors: frozenset[str] | None = None
    merger: str | None = None
    merge: Approval | None = None
    unheard: str = ""
    """`approvals` to `unheard` are as in `PolicyFacts`, which has them for one version."""
    environment: str = ""
    entry: CommitFacts | None = None
    served: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """`environment`, `entry` and `served` as well; the entry is that of what the target names."""
    mergers_asked: tuple[str, ...] = ()
    """The commits of main whose mergers rules ask for, and only a forge knows."""

    @property
    def all_policies(self) -> tuple[Policy, ...]:
        """The present policies; and of the policies at the promotion, requirements on the version that no present one
        has.

        So a policy that is loosened applies to later commits only. Only the present policies decide when traffic may
        move: a removed freeze lets continue what was merged during it (decision 33).
        """
        if self.then is None:
            return self.policies
        now = {each.name: each for each in self.policies}
        before = (_left_of(each, now.get(each.name)) for each in self.then.policies)
        return (*self.policies, *(each for each in before if each.rules or each.broken))

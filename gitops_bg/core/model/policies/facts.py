"""What promotion policies are judged by: facts as plain data, and the verdicts. Where nobody told, that is a value.

The core makes these of a world; tests and replays write them down.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from gitops_bg.core.model.policies.rules import OF_THE_VERSION, Mode, PoliciesThen, Policy, Proof
from gitops_bg.core.model.version import AppKey


@dataclass(frozen=True, slots=True)
class Person:
    """Who a commit is by, as Git says it."""

    name: str = ""
    email: str = ""

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>" if self.email else self.name


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """One commit of main's history, with its whole message."""

    commit: str
    author: Person = Person()
    committer: Person = Person()
    at: datetime | None = None
    message: str = ""
    trailers: tuple[tuple[str, str], ...] = ()

    def trailer(self, name: str) -> tuple[str, ...]:
        """The values of a trailer, whatever the case of its name."""
        return tuple(value for key, value in self.trailers if key.lower() == name.lower())


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody said yes to a digest."""

    by: str
    digest: str
    at: datetime
    proof: Proof = Proof.FORGE
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Peer:
    """Another app, as this process saw it last."""

    app: AppKey
    labels: tuple[tuple[str, str], ...] = ()
    healthy_since: datetime | None = None
    """None while it is not healthy."""
    phase: str = ""
    digest: str = ""
    """Of what serves."""
    number: int = 0
    label: str = ""
    """What its template calls the version that serves: ``app.kubernetes.io/version``, else the tag of its image."""
    moving: bool = False
    """Between its promotion and the end of its analysis."""
    queued: tuple[int, str] | None = None
    """Its place in the queue, where it waits to begin: the place of its merge in main; less is first."""


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """A version that traffic could move to, or that serves."""

    digest: str
    number: int = 0
    label: str = ""
    images: tuple[str, ...] | None = None
    """None: nobody can tell."""
    source: CommitFacts | None = None
    """None: nobody can tell."""
    source_commit: str = ""


@dataclass(frozen=True, slots=True)
class PastMove:
    """A movement of live traffic that has been."""

    at: datetime
    digest: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """All that rules ask about one version of one app."""

    app: AppKey
    to: VersionFacts
    serving: VersionFacts | None = None
    """None: nothing serves, and this is the first deployment."""
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    available_since: datetime | None = None
    promoted: bool = False
    """``primary.yaml`` names it."""
    promotion: CommitFacts | None = None
    """The commit that did so; None while there is none, and where nobody can tell."""
    queue: tuple[int, str] = (0, "")
    """Its own place among those that wait to begin."""
    peers: Mapping[AppKey, Peer] = field(default_factory=dict)
    """The apps that a rule asks about, as far as they are known."""
    not_looked_at: int = 0
    """How many apps there are that this process has not looked at yet."""
    promotions: tuple[PastMove, ...] = ()
    """Newest first."""
    rollbacks: tuple[PastMove, ...] = ()
    approvals: tuple[Approval, ...] | None = None
    """None: nobody tells who approved."""
    authors: frozenset[str] | None = None
    merger: str | None = None


@dataclass(frozen=True, slots=True)
class Overriding:
    """Somebody promoted in spite of a policy that lets them."""

    policy: str
    by: str
    reason: str
    commit: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule of one policy says."""

    policy: str
    rule: str
    """The field's name in the file; ``policy`` of what is said of the policy as a whole."""
    open: bool
    reason: str = ""
    until: datetime | None = None
    """When time alone opens it, or, while it is open, may shut it; None where that is not known."""
    mode: Mode = Mode.ENFORCE
    overriding: Overriding | None = None
    """It is shut, and counts as open because of this."""
    remedy: str = ""
    unknown: bool = False
    """It is shut only because nobody can tell."""

    @property
    def holds(self) -> bool:
        """Whether it keeps traffic where it is."""
        return not self.open and self.mode is Mode.ENFORCE and self.overriding is None


def _left_of(then: Policy, now: Policy | None) -> Policy:
    """What a policy asked of the version and does not ask any more."""
    asked = now.rules if now and now.mode is then.mode else ()
    rules = tuple(each for each in then.rules if isinstance(each, OF_THE_VERSION) and each not in asked)
    return replace(then, rules=rules)


@dataclass(frozen=True, slots=True)
class Policing:
    """All that an app is told of policies: those that match it, and the facts that they ask for."""

    policies: tuple[Policy, ...] = ()
    """Of main's newest, by name."""
    then: PoliciesThen | None = None
    """Those that held when the version was promoted that traffic waits to move to; None where nobody asked."""
    problems: tuple[str, ...] = ()
    """What is wrong with files of ``policies/`` that are for this app, or may be: they are as they were last."""
    labels: tuple[tuple[str, str], ...] = ()
    """Of the metadata of ``target.yaml``."""
    annotations: tuple[tuple[str, str], ...] = ()
    commits: tuple[CommitFacts, ...] = ()
    """Those that rules ask about, as far as they could be read."""
    peers: Mapping[AppKey, Peer] = field(default_factory=dict)
    """The other apps that rules ask about, as far as this process has looked at them."""
    not_looked_at: int = 0
    """How many apps there are that it has not looked at yet, where a rule counts them."""
    approvals: tuple[Approval, ...] | None = None
    authors: frozenset[str] | None = None
    merger: str | None = None

    @property
    def all_policies(self) -> tuple[Policy, ...]:
        """Those of now; and of those of then what they asked of the version, where nothing asks for it now.

        So loosening counts for what is committed after it. When traffic may move is for those of now alone to say:
        who removes a freeze lets go on what was merged meanwhile (decision 33).
        """
        if self.then is None:
            return self.policies
        now = {each.name: each for each in self.policies}
        before = (_left_of(each, now.get(each.name)) for each in self.then.policies)
        return (*self.policies, *(each for each in before if each.rules or each.broken))

"""The explored world as immutable values: main's history, the remote, the cluster, what each agent knows, the books.

A state is seven small numbers, one for each part: equal parts are one number, so states are compared and kept cheaply.
`now` is always `NOW`: when time passes, every time in the record moves back instead (`moments`).
"""

from collections.abc import Hashable
from typing import Any, Generic, NamedTuple, TypeVar

from gitops_bg.core.model.actions import ClusterAction, GitAction
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.statements import Contract, Statements
from gitops_bg.core.model.version import NO_METADATA, PodMetadata

T = TypeVar("T", bound=Hashable)
Files = tuple[Hashable, ...]
"""What the app's folder holds: equal, equal trees in Git."""
Settings = tuple[bool, tuple[str, int], bool]
"""What app.yaml says beside what stays: whether the app is suspended, its retry, whether it is to be released."""


class Pool(Generic[T]):
    """Equal values are one number."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}
        self.values: list[T] = []

    def number(self, value: T) -> int:
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = len(self.values)
            self.values.append(value)
        return known

    def __getitem__(self, number: int) -> T:
        return self.values[number]


class Commit(NamedTuple):
    """Main after one commit: all of it that the engine hears of. Versions are called by their image tag."""

    id: str
    target: str = ""
    """Empty: ``target.yaml`` is missing; ``?``: it is broken."""
    brought_by: str = ""
    """The commit that last changed the target; ``reverts`` is what it says it reverts."""
    reverts: tuple[str, ...] = ()
    backdated: bool = False
    """It kept an old author date, as rebase and cherry-pick do."""
    primary: str = ""
    """What ``primary.yaml`` names; empty: there is none."""
    number: int = 0
    """The number of the version in ``primary.yaml``."""
    named_by: str = ""
    """The commit that last changed ``primary.yaml``."""
    by_agent: bool = False
    """The agent made it."""
    source: str = ""
    """The commit that ``primary.yaml`` says brought its snapshot."""
    says_good: str = ""
    """The version that somebody wants by it, whatever was said of it before: a promotion, a retry."""
    took_back: str = ""
    """The version whose promotion it reverts."""
    generation: int = 0
    """Of main's history: grows when somebody accepts a rewritten one."""
    suspended: bool = False
    retry: tuple[str, int] = ("", 0)
    released: bool = False
    """An adopted app is to give its Service back."""

    @property
    def settings(self) -> Settings:
        return self.suspended, self.retry, self.released

    @property
    def files(self) -> Files:
        return (self.target, self.primary, self.number, self.source, *self.settings)


Main = tuple[Commit, ...]


class Ledger(NamedTuple):
    """The state branch: how far it got, and what a lost record gets back from it."""

    epoch: str = ""
    sequence: int = 0
    rollout: int = 0
    last_version: int = 0
    served: tuple[str, ...] = ()
    """Digests that carried live traffic, oldest first."""
    statements: Statements = ()
    primary_by: str = ""
    contract: Contract | None = None


Branch = tuple[str, str, int, str, str]
"""The promotion branch: tag, the tag of the primary that it starts from, number, source commit, what it asks for."""


class Git(NamedTuple):
    """The remote."""

    main: int
    branch: Branch | None = None
    ledger: Ledger = Ledger()
    up: bool = True
    protected: bool = False
    """Main refuses the agent's pushes."""
    line: int = 0
    """How often main was rewound: keeps the ids of commits apart."""


class Pods(NamedTuple):
    """One ReplicaSet of ours."""

    tag: str
    number: int
    replicas: int
    available: int
    metadata: PodMetadata = NO_METADATA
    """What new pods get in addition to their template."""
    worn: PodMetadata = NO_METADATA
    """What those that are there have of it."""


class Former(NamedTuple):
    """The Deployment that serves an app until it is adopted."""

    replicas: int = 2
    available: int = 2
    gone: bool = False


class Cluster(NamedTuple):
    """What is live. A Service is the tag it selects; empty: its selector was wiped; None: it does not exist."""

    exists: bool = False
    """The BlueGreenDeployment."""
    life: int = 0
    """How often it was made anew."""
    applied: Settings = (False, ("", 0), False)
    """What its spec says."""
    sets: tuple[Pods, ...] = ()
    active: str | None = None
    preview: str | None = None
    request: tuple[str, str] | None = None
    """An operator's: its id and verb."""
    mark: str = ""
    """What the active Service says of a withdrawn switch."""
    version: int = 0
    """How often the active Service was written to (its resourceVersion), where a process may stand still."""
    going: bool = False
    """Somebody deletes the BlueGreenDeployment, and it is not gone yet."""
    former: Former | None = None
    """None: the app was never adopted."""
    theirs: bool = False
    """The active Service is not the app's: it selects the pods of the Deployment, and those of ours with its labels."""
    taken_over: bool = False
    """The active Service remembers what it selected before it became the app's."""

    @property
    def behind(self) -> dict[str, int]:
        """The available pods that the active Service selects, by their version; by none those of the Deployment."""
        if self.active or self.active is None:
            found = {self.active or "": self.available(self.active)}
        else:
            found = {one.tag: one.available for one in self.sets if not one.worn.labels}
            found[""] = self.former.available if self.former else 0
        return {tag: count for tag, count in found.items() if count}

    def pods(self, tag: str | None) -> Pods | None:
        return next((one for one in self.sets if one.tag == tag), None)

    def available(self, tag: str | None) -> int:
        one = self.pods(tag)
        return one.available if one else 0

    def with_pods(self, pods: Pods) -> "Cluster":
        others = [one for one in self.sets if one.tag != pods.tag]
        return self._replace(sets=tuple(sorted([*others, pods])))

    def without(self, tag: str) -> "Cluster":
        return self._replace(sets=tuple(one for one in self.sets if one.tag != tag))


class Agent(NamedTuple):
    """One agent: what it knows of Git, and what it has decided and not done yet. Numbers are of pools."""

    main: int = -1
    """The main it has read; -1: nobody has looked yet."""
    branch: Branch | None = None
    ledger: Ledger = Ledger()
    away: bool = False
    """The remote did not answer when it looked."""
    refused: bool = False
    rewritten: str = ""
    """The commit it saw that main no longer contains."""
    look: int = 0
    """The number of its last look at main; from 0 again where no decision waits for the next."""
    process: str = ""
    wish: int = 0
    """What its last decision wants of Git, the commit of main that it was decided from, what the ledger says then."""
    halted: int = 0
    """What is left of its last pass, where the process stands still (SIGSTOP), and what it had checked by then."""


class Books(NamedTuple):
    """What the explorer itself remembers, to judge by; nothing of it reaches the engine."""

    live: str = ""
    """Where live traffic was moved last, by a switch."""
    served: tuple[str, ...] = ()
    """Versions that served, the last one last."""
    came: tuple[str, ...] = ()
    """The same in the order in which they came forward first."""
    bad: frozenset[str] = frozenset()
    """Rolled back, failed or aborted, and nobody has said since that they are good."""
    mild: frozenset[str] = frozenset()
    """Of these, what nothing speaks against but that it was taken back or expired."""
    stopped: frozenset[str] = frozenset()
    """An operator stopped these, and nobody has said since that they are good."""
    left: frozenset[str] = frozenset()
    """Rolled back, failed or aborted, and not live again since: no place to go back to."""
    owed: tuple[tuple[str, str], ...] = ()
    """Movements of traffic that the ledger has yet to tell."""
    told: int = 0
    """The last entry of the ledger that was compared with the movements."""
    newest: int = -1
    """The newest main that any agent has acted on."""
    asked: int = -1
    """Main when an operator asked for something last."""
    expect: tuple[str, ...] | None = None
    """What must come of a revert: the version that is to be live in the end; and the words for it."""
    prepared: frozenset[str] = frozenset()
    """Versions whose Jobs before their pods have ended well."""
    closed: frozenset[str] = frozenset()
    """Versions older than a contract that has begun."""


class State(NamedTuple):
    """One state: each part as the number of its value in its pool."""

    git: int
    cluster: int
    record: int
    a: int
    b: int
    """-1: there is one agent only."""
    books: int
    old: int
    """What a cache that lags still shows: of an app its cluster and record, of a group its cluster; -1: none lags."""


class Pools:
    """All parts of all states that were seen."""

    def __init__(self) -> None:
        self.main: Pool[Main] = Pool()
        self._ids: dict[int, frozenset[str]] = {}
        self.git: Pool[Git] = Pool()
        self.cluster: Pool[Cluster] = Pool()
        self.record: Pool[Record] = Pool()
        self.agent: Pool[Agent] = Pool()
        self.books: Pool[Books] = Pool()
        self.old: Pool[tuple[int, int]] = Pool()
        self.wish: Pool[tuple[tuple[GitAction, ...], str, Ledger]] = Pool()
        self.halted: Pool[tuple[tuple[ClusterAction, ...], int, int]] = Pool()
        self.wish.number(((), "", Ledger()))
        self.halted.number(((), 0, 0))
        self.old.number((-1, -1))

    def commits(self, main: int) -> frozenset[str]:
        """The ids of all commits of a main."""
        known = self._ids.get(main)
        if known is None:
            known = self._ids[main] = frozenset(commit.id for commit in self.main[main])
        return known


class Violation(Exception):
    """A promise was broken."""


def is_older(main: Main, than: Main) -> bool:
    """Whether a main is a proper ancestor of another."""
    return len(main) < len(than) and than[: len(main)] == main


def sorted_set(values: Any) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))

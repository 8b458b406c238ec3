"""The explored world of one release group as immutable values: main, the remote, the cluster, what each agent knows.

As `tests.exploration.world` for apps: equal parts are one number, and `now` is always `NOW`.
"""

from typing import NamedTuple

from gitops_bg.core.groups.inputs import GroupBranch
from gitops_bg.core.groups.record import CommitActive, GroupGitAction, GroupRecord
from gitops_bg.core.model.analysis import MeasurementRequest
from gitops_bg.core.model.auxiliary import HttpRoute
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.hooks import HookCall
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.spec import Retry
from gitops_bg.repo.ledger.ledger_file import LedgerBatch, LedgerDocument
from tests.exploration.world import Pool


class Commit(NamedTuple):
    """Main after one commit: all of it that the engine hears of."""

    active: str = "v1"
    folders: tuple[tuple[str, int], ...] = ()
    """The versions that have a folder, each with the number of its content."""
    suspended: bool = False
    retry: Retry | None = None
    """What somebody asks to have tried again."""
    broken: bool = False
    """``group.yaml`` has a mistake: what it said before is still known."""
    has_app: bool = False
    """Main has the folder of the app whose requests the group is to have."""
    by_agent: bool = False

    @property
    def file(self) -> tuple[object, ...]:
        """What ``group.yaml`` says."""
        return self.active, self.suspended, self.retry, self.broken

    @property
    def names(self) -> tuple[str, ...]:
        """The versions that have a folder."""
        return tuple(name for name, _ in self.folders)


def content_of(head: Commit, version: str) -> str:
    """What a run, or a hold, about a version is about."""
    return f"{version}-{dict(head.folders).get(version, '')}"


Main = tuple[Commit, ...]


class Git(NamedTuple):
    """The remote."""

    main: int
    ledger: LedgerDocument = LedgerDocument()
    protected: bool = False
    """Main refuses the agent's pushes."""
    branch: CommitActive | None = None
    """The commit that main refused, on a branch of its own."""
    base: tuple[object, ...] = ()
    """What ``group.yaml`` of the main says that it stands on."""


class Routes(tuple[HttpRoute, ...]):
    """HTTPRoutes, oldest first: a tuple that works out its hash once."""

    def __hash__(self) -> int:
        known: int | None = self.__dict__.get("known")
        if known is None:
            known = self.__dict__["known"] = super().__hash__()
        return known


STRANGER, APP = "stranger", "basket"
"""The HTTPRoutes of others: of somebody nobody knows, and of an app that follows the same main."""
OTHERS = (STRANGER, APP)


class Cluster(NamedTuple):
    """What is live."""

    exists: bool = False
    """The ReleaseGroup."""
    life: int = 0
    """How often it was made anew."""
    routes: Routes = Routes()
    """Those of the group, and those of others (`OTHERS`)."""
    taken: Routes = Routes()
    """What the Gateway serves of them."""
    services: tuple[tuple[str, str], ...] = ()
    """The stable Services, each with the member that it follows."""
    up: frozenset[str] = frozenset()
    """The members that have pods."""
    failing: frozenset[str] = frozenset()
    """The members whose pods do not come up."""
    gateway: str = "takes"
    """``takes`` routes at once, is ``late``, ``refuses`` what is new, or is ``silent``: takes it, and never says so."""
    requests: tuple[Request, ...] = ()
    """What operators ask for, and nobody has answered."""
    asked: int = 0
    """How often they did."""
    knows_routes: bool = True
    """The cluster has the Gateway API."""
    policy: str = ""
    """What a policy says of promotions: ``no``, or ``later``; empty: there is none."""

    @property
    def answering(self) -> frozenset[str]:
        """All that has pods: members, and what the routes of others lead to."""
        return self.up | frozenset(OTHERS)


class Agent(NamedTuple):
    """What an agent knows, and what it has begun."""

    main: int = -1
    """The main it has read; -1: nobody has looked yet."""
    ledger: tuple[str, int] | None = None
    """How far the ledger is, as it has read it."""
    memory: LedgerMemory = LedgerMemory()
    """What it knows, likewise."""
    refused: bool = False
    """Main did not take its last commit."""
    branch: GroupBranch | None = None
    """The branch, as it has read that; its commit is called as the version that it asks for."""
    batch: LedgerBatch | None = None
    git: tuple[GroupGitAction, ...] = ()
    measures: tuple[MeasurementRequest, ...] = ()
    calls: tuple[HookCall, ...] = ()


class Books(NamedTuple):
    """What the explorer itself remembers, to judge by; nothing of it reaches the engine."""

    newest: int = -1
    """The newest main that a record was decided from."""


class Pools:
    """All parts of all states that were seen."""

    def __init__(self) -> None:
        self.main: Pool[Main] = Pool()
        self.git: Pool[Git] = Pool()
        self.cluster: Pool[Cluster] = Pool()
        self.record: Pool[GroupRecord] = Pool()
        self.agent: Pool[Agent] = Pool()
        self.books: Pool[Books] = Pool()

"""What Git says about one app at one commit of main, and what the ledger remembers of the app."""

from dataclasses import field, replace
from enum import Enum
from typing import Literal

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.proven import EnvironmentInput, ProvenRelease
from gitops_bg.core.foreign_text import printable
from gitops_bg.core.model.auxiliary import AppRoute, Autoscaler, AuxiliaryObject
from gitops_bg.core.model.journal import NO_JOURNAL, NO_LOOKS, Journal, PollCount
from gitops_bg.core.model.main import Knowledge, Main, MainRead
from gitops_bg.core.model.policy_facts import PolicyInput
from gitops_bg.core.model.statements import Contract, Statements
from gitops_bg.core.model.version import NOT_STORED, ReleaseId, ServicePorts, Snapshot, Source


class Missing(Enum):
    """Why the content of a file is not known.

    Three answers, not one: unknown is not absent (decision 17). All are false.
    """

    ABSENT = "absent"
    """Main was read, and has no such file."""
    UNREADABLE = "unreadable"
    """Main has the file, and it cannot be understood: its last valid content holds."""
    UNSEEN = "unseen"
    """This process has not read main yet: what the record knows holds, and nothing new begins."""

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(frozen=True, slots=True)
class Target:
    """``target.yaml``: what the author wants next. ``replicas`` belongs to the app, not to the snapshot; None for a
    DaemonSet.
    """

    snapshot: Snapshot
    replicas: int | None
    source: Source
    pinned: bool = False
    """``app.yaml`` names the version (``revision``), whatever the file of the target says."""
    release: ReleaseId | None = None
    """The release that it is made from; None where the repository has no environments."""


@dataclass(frozen=True, slots=True)
class Primary:
    """``primary.yaml``: what live traffic must follow (DESIGN §4, the one rule).

    ``changed_by`` is the commit of main that last changed the file: the promotion or the revert itself.
    ``source`` is what the file says about where the snapshot came from.
    """

    snapshot: Snapshot
    version: int
    source: Source
    changed_by: Source
    services: tuple[ServicePorts, ...] = ()
    """The ports that live traffic was promoted with, where they differ from those of the template."""
    release: ReleaseId | None = None
    """The release that it is of, in an environment."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file: where, what, and what would be right. Lines and columns count from 1.

    Its text is safe to show anywhere, whatever the file and its name contain.
    """

    file: str
    message: str
    line: int | None = None
    column: int | None = None
    field: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        subject = f"{self.field}: " if self.field else ""
        hint = f" ({self.remedy})" if self.remedy else ""
        return printable(f"{place}: {subject}{self.message}{hint}")


@dataclass(frozen=True, slots=True)
class LedgerMemory:
    """What the state branch knows of an app, or a release group; read only where the record is lost (DESIGN §4.7)."""

    rollout: int = 0
    last_version: int = 0
    active_digests: tuple[str, ...] = ()
    """Digests that carried live traffic, in the order in which they were first promoted."""
    statements: Statements = ()
    """Who said what about a version."""
    numbers: tuple[tuple[str, int], ...] = ()
    """The numbers that digests had."""
    primary_by: str = ""
    """As ``Record.git.primary_by``: a ``primary.yaml`` that changed after this commit answers these holds."""
    serving: str = ""
    """What live traffic went to when the ledger was written; empty where nobody can tell."""
    legacy: str = ""
    """Of a group: the version before, which was kept warm."""
    proven: tuple[ProvenRelease, ...] = ()
    """The releases that were proven here."""
    contract: Contract | None = None
    """As of a `Record`."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The app at ``commit`` of main.

    ``in_git`` is False once the folder of the app has left main. While ``history_rewritten`` is set, main moves nothing
    until the old history is back or somebody accepts the new one (gitops.md §3). Where ``knowledge`` does not count, no
    other field is acted on.
    """

    commit: str
    target: Target | Missing
    primary: Primary | Missing
    """ABSENT: nothing was promoted yet, or somebody removed the file."""
    problems: tuple[Problem, ...] = ()
    in_git: bool = True
    moved_to: str = ""
    """The app of main that is this one under a new name; only where the folder has left main."""
    kept: str = ""
    """Why the app is kept, whatever its ``deletionPolicy`` says; only where the folder has left main."""
    history_rewritten: str = ""
    """What was rewritten: the commit seen before that main no longer contains. Empty: nothing."""
    history_lasts: bool = True
    """Whether the rewrite has lasted for a while; the ledger does not note a remote that lags for a moment."""
    memory: LedgerMemory | None = None
    auxiliary_objects: tuple[AuxiliaryObject, ...] = ()
    """What should be live beside the versions, including the copy of the autoscaler."""
    autoscaler: Autoscaler | None = None
    route: AppRoute | None = None
    whole: bool = True
    """Whether the whole folder could be read: only then has an auxiliary object that is missing here left Git."""
    looks: PollCount = NO_LOOKS
    """The look at main that this comes from."""
    knowledge: Knowledge = Knowledge.SAME
    generation: int = 0
    """The generation of main's history: how often somebody accepted a rewritten one."""
    tree: str = ""
    """The id of the app's folder at ``commit``."""
    journal: Journal = NO_JOURNAL
    """What main said since the record knows it, as far as the core asks for it (``core.checks.git``)."""
    ports: tuple[ServicePorts, ...] = ()
    """The ports of each Service of the app that Git describes; empty where they are those of the template.

    A preview Service without a manifest has those of an active one with a manifest.
    """
    policing: PolicyInput | None = field(default=None, metadata=NOT_STORED)
    """The promotion policies, and the facts that they ask for; None where no policy is for the app."""

    twins: str = ""
    """The two versions that have the same short digest, in a sentence; empty where all can be told apart
    (``core.checks.versions``).
    """
    environment: EnvironmentInput | None = None
    """Its environment, and what is proven before it; None where the repository has no environments."""
    in_candidate: bool = False
    """Whether it is a service of a release group's candidate. No request reaches it that does not name the candidate,
    so policies are asked when the group is promoted, not when its first version comes up.
    """

    def unread(self) -> "Desired":
        """Return a copy as if main had not been read, so that nothing is concluded from what it says or lacks."""
        none = Missing.UNSEEN
        nothing = replace(self, target=none, primary=none, problems=(), in_git=True, memory=None)
        shared = replace(
            nothing, auxiliary_objects=(), autoscaler=None, route=None, whole=False, policing=None, environment=None
        )
        return replace(shared, ports=(), journal=NO_JOURNAL, looks=NO_LOOKS)

    @property
    def seen(self) -> bool:
        """Whether main has been read."""
        return self.primary is not Missing.UNSEEN

    @property
    def main(self) -> MainRead:
        """Main as it was read, in the words that release groups have, too."""
        main = Main(self.commit, self.generation, self.tree)
        return MainRead(main, self.knowledge, self.history_rewritten, self.history_lasts)

"""What Git says about one app at one commit of main, and what the ledger remembers of it."""

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal

from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.looks import NO_LOOKS, Looks
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.policies.facts import Policing
from gitops_bg.core.model.record import Hold
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.stored import NOT_STORED
from gitops_bg.core.model.version import ServicePorts, Snapshot, Source
from gitops_bg.core.text.printable import printable


class Missing(Enum):
    """Why there is no file to go by. Three answers, not one: unknown is not absent (decision 17). All are false."""

    ABSENT = "absent"
    """Main was read, and has none."""
    UNREADABLE = "unreadable"
    """Main has one, and it cannot be understood: what it said before holds."""
    UNSEEN = "unseen"
    """Nobody has looked at main in this process: what the record knows holds, and nothing new begins."""

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(frozen=True, slots=True)
class Target:
    """``target.yaml``: what the author wants next. ``replicas`` belongs to the app, not to the snapshot."""

    snapshot: Snapshot
    replicas: int
    source: Source


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
    """The ports that live traffic was promoted with, as far as they are not those of the template."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """How main's history came to have the target name the version that it names (decision 18). Facts, no verdict.

    ``source`` is the commit that brought that version; later ones (of replicas, of comments) left it as it is.
    """

    source: Source
    named: tuple[str, ...] = ()
    """What its message names as reverted, as people read it: commits, ``#12``, ``!12``. Empty: it names nothing."""
    missing: tuple[str, ...] = ()
    """Those of ``named`` that main had not taken in before."""
    reverted: tuple[str, ...] = ()
    """The commits that ``named`` means, those that a merge brought with it, and so on for the reverts right before."""
    taken_back: tuple[Snapshot, ...] = ()
    """The versions that these commits brought."""
    unread: str = ""
    """Why nobody can tell now: the rest is empty then."""


@dataclass(frozen=True, slots=True)
class PassedRetry:
    """A retry that a newer one replaced in ``app.yaml``, and who asked for it."""

    retry: Retry
    asked_by: Source


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file: where, what, and what would be right. Lines and columns count from 1.

    As text it can be shown anywhere, whatever the file and its name hold.
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
    """What the state branch knows of an app: read only where the record is gone (DESIGN §4.7)."""

    rollout: int = 0
    last_version: int = 0
    active_digests: tuple[str, ...] = ()
    """Digests that carried live traffic before, in the order in which they came forward."""
    holds: tuple[Hold, ...] = ()
    past_holds: tuple[Hold, ...] = ()
    """Lifted ones whose digests did not serve since."""
    numbers: tuple[tuple[str, int], ...] = ()
    """The numbers that digests had."""
    primary_by: str = ""
    """As ``Record.git.primary_by``: what main named since is an answer to these holds."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The app at ``commit`` of main.

    ``in_git`` is False once the folder of the app has left main.
    While ``history_rewritten``, main moves nothing, until it comes back or somebody accepts the new history
    (gitops.md §3). Where ``knowledge`` does not count, the rest of what is said here is not acted on.
    """

    commit: str
    target: Target | Missing
    primary: Primary | Missing
    """ABSENT: nothing was promoted yet, or somebody removed it."""
    problems: tuple[Problem, ...] = ()
    in_git: bool = True
    history_rewritten: str = ""
    """Empty, or what was rewritten: the commit seen before that main no longer contains."""
    history_lasts: bool = True
    """Whether it has been so for a while; a remote that lags for a moment is nothing for the ledger."""
    memory: LedgerMemory | None = None
    auxiliary_objects: tuple[AuxiliaryObject, ...] = ()
    """What is to be live beside the versions, the copy of the autoscaler with it."""
    autoscaler: Autoscaler | None = None
    whole: bool = True
    """Whether all of the folder could be read: an auxiliary object that is not named here has left Git then."""
    looks: Looks = NO_LOOKS
    """Which look at main this comes from."""
    knowledge: Knowledge = Knowledge.SAME
    generation: int = 0
    """Of main's history: how often somebody accepted a rewritten one."""
    tree: str = ""
    """The id of the app's folder at ``commit``."""
    suspended_by: Source | None = None
    """The commit that let into main what ``app.yaml`` says of suspension; only where that is news to the record."""
    retried_by: Source | None = None
    """The same of the retry it asks for: a later change of anything else in that file makes it no newer. Without a
    commit where nobody can tell now."""
    retries_passed: tuple[PassedRetry, ...] = ()
    """Those between the one that the record answered last and the one that ``app.yaml`` asks for now, oldest first
    (``core.transitions.git.operator_requests.asks_for_retries``)."""
    ports: tuple[ServicePorts, ...] = ()
    """Of each Service of the app that Git says something of; empty where its ports are those of the template."""
    passed: tuple[Snapshot, ...] | None = None
    """What ``primary.yaml`` named since the record's look at it, oldest first. None where nobody asked or can tell
    (``core.checks.reverts.asks_what_passed``)."""
    provenance: Provenance | None = None
    """None where nobody asked: it counts only where the target names what is no news (``transitions.git.reverts``)."""
    policing: Policing | None = field(default=None, metadata=NOT_STORED)
    """What promotion policies say, and the facts that they ask for; None where none is for the app."""

    def unread(self) -> "Desired":
        """The same as if nobody had read main: nothing is concluded from it, nor from its silence."""
        none = Missing.UNSEEN
        nothing = replace(self, target=none, primary=none, problems=(), in_git=True, memory=None)
        shared = replace(nothing, auxiliary_objects=(), autoscaler=None, whole=False, policing=None)
        return replace(shared, ports=(), provenance=None, looks=NO_LOOKS)

    @property
    def seen(self) -> bool:
        """Whether somebody has looked at main."""
        return self.primary is not Missing.UNSEEN

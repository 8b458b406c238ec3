"""What becomes of a group whose folder left main: it ends, as its file said last, or serves on as it is.

It ends from outside to inside: first no request is led to it, then no Service of its own follows anything, then its
members end, and at last its ReleaseGroup goes, so that whoever dies in between goes on. Until then the folder may come
back. An accident ends nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from gitops_bg.core.delivery.ledger import acknowledged, noted
from gitops_bg.core.delivery.restore import recalled
from gitops_bg.core.groups.decision import DeleteGroup, DeleteRoute, DeleteService, GroupAction, GroupDecision
from gitops_bg.core.groups.model import VersionStage, version_number
from gitops_bg.core.groups.observed import LedgerPosition
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.actions import WithdrawPromotion
from gitops_bg.core.model.decision import Phase
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.git.main import MainRead
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.status.kstatus import kstatus_of

_ENDS = "it ends, as deletionPolicy: delete says"


@dataclass(frozen=True, slots=True)
class LeftGroup:
    """A live group whose folder left main, and what it has."""

    key: GroupKey
    policy: DeletionPolicy = DeletionPolicy.KEEP
    """What its file said last."""
    kept: str = ""
    """Why it is kept, whatever the policy says; empty where nothing speaks for that."""
    routes: tuple[str, ...] = ()
    """Its own live HTTPRoutes."""
    services: tuple[str, ...] = ()
    """Its own live Services with the services' own names."""
    members: tuple[str, ...] = ()
    """The live apps of its services."""
    main: MainRead = MainRead()  # noqa: RUF009 - frozen
    """The main that its folder left."""
    ledger: LedgerPosition | None = None
    """How far the ledger in Git got; None while nobody has looked."""
    memory: LedgerMemory | None = None
    """As `ObservedGroup.memory`."""
    branch: str = ""
    """The head of its promotion branch, where that is the agent's own, or main has it; empty: nothing is to go."""
    successor: str = ""
    """The release group that it is under another name, or is to be; empty where there is none."""
    taken_over: bool = False
    """Whether that one has begun to take over what this one has."""

    @property
    def ends(self) -> bool:
        """Whether it ends now."""
        return self.policy is DeletionPolicy.DELETE and not self.kept and not self.successor

    @property
    def leads_nowhere(self) -> bool:
        """Whether no request is led to its members by anything of its own: then they may end."""
        return not (self.routes or self.services)


def decide_left(left: LeftGroup, record: GroupRecord, now: datetime) -> GroupDecision:
    """Return what to do about the group now. Its record stays as it is but for the main, and what the ledger is told:
    the folder may come back.
    """
    phase = Phase.PROGRESSING if left.ends else Phase.DEGRADED
    told = _told(left, record, now)
    said = f"the folder of the group left main; {_what_becomes(left, told)}"
    # First the ledger has what is told of it, as of an app: what waits in the record goes with the ReleaseGroup.
    actions = tuple(_deletions(left)) if left.ends and not told.ledger else ()
    told = replace(told, main=left.main.learnt(record.main, saved=told != record))
    git = (WithdrawPromotion("the group's folder left main"),) if left.branch else ()
    return GroupDecision(actions, told, phase, kstatus_of(phase, said), git=git)


def _told(left: LeftGroup, record: GroupRecord, now: datetime) -> GroupRecord:
    """The record with the entry that its folder left main; where it is to end, once nothing speaks against that, and
    where it is another group, once that one takes over, as of an app.
    """
    if left.ledger is not None:
        record = acknowledged(record, left.ledger.epoch, left.ledger.sequence)
    if left.memory is not None:
        record = recalled(record, left.memory)
    is_kept = left.policy is DeletionPolicy.DELETE and bool(left.kept)
    is_awaited = not left.taken_over and (is_kept or bool(left.successor))
    if record.orphaned or is_awaited or not record.epoch:
        return record
    active = version_number(record.state.only(VersionStage.ACTIVE)) or None
    entry = LedgerEntry(0, now, Event.DELETED, from_version=active, commit=left.main.at.commit)
    if left.taken_over:
        entry = replace(entry, reason=_is_now(left))
    elif not left.ends:
        reason = "the group's folder has left main without deletionPolicy: delete; it keeps serving"
        entry = replace(entry, event=Event.ORPHANED, from_version=None, to_version=active, reason=reason)
    return noted(replace(record, orphaned=True), entry)


def _deletions(left: LeftGroup) -> Iterator[GroupAction]:
    """One kind at a time: a Gateway that has a route still would answer 500 for a Service that is gone."""
    yield from map(DeleteRoute, left.routes)
    if not left.routes:
        yield from map(DeleteService, left.services)
    if left.leads_nowhere and not left.members:
        yield DeleteGroup(left.key.name, "its folder left main with deletionPolicy: delete")


def _is_now(left: LeftGroup) -> str:
    return f"it is the release group {left.successor} now"


def _what_becomes(left: LeftGroup, record: GroupRecord) -> str:
    if left.taken_over:
        return _is_now(left)
    if left.ends:
        return f"{_ENDS}: {_next_end(left, record)}"
    active = record.state.only(VersionStage.ACTIVE)
    serves = f"{active} serves on, with its Services and routes" if active else "it stays as it is"
    kept = left.kept if left.policy is DeletionPolicy.DELETE else ""
    heir = f"it may be the release group {left.successor} by now" if left.successor else ""
    why = "; ".join(filter(None, (heir, kept)))
    return f"{serves}, and nothing of it moves any more{why and f': {why}'}"


def _next_end(left: LeftGroup, record: GroupRecord) -> str:
    if record.ledger:
        return "first the ledger gets what is to be told of it"
    if not left.leads_nowhere:
        return "its routes and Services go"
    return f"{', '.join(left.members)} end with all they have" if left.members else "nothing of it is left"

"""What is asked of main's history, and what of its answer came before the last change of ``primary.yaml``.

Asking costs a few reads of Git. An ordinary push asks for nothing: the poll knows that change.
"""

from dataclasses import dataclass, replace

from gitops_bg.core.delivery.world import Describes
from gitops_bg.core.model.desired import Desired
from gitops_bg.core.model.git.journal import Entry
from gitops_bg.core.model.record import Delivery, Record
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.world import World, resolve


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of main about one app or release group; by default nothing."""

    names_since: str = ""
    """The commit of main since which the contents of ``primary.yaml`` count; empty: none do."""
    retries_after: int | None = None
    """The number of the last retry that is answered; None: all are."""
    suspension: bool = False
    """Who suspended it, or ended that."""
    who_brought: bool = False
    """Which commit brought the target."""
    reverts: bool = False
    """And what that takes back."""


def asks_main(spec: AppSpec | None, desired: Desired, record: Record) -> Asked:
    """What main is asked since the record knows it; ``spec`` None: ``app.yaml`` never said anything."""
    reverts = asks_for_reverts(desired, record)
    return replace(
        asks_of_file(spec, record) if spec is not None else Asked(),
        names_since=asks_for_names(desired, record),
        who_brought=reverts or _wanted(desired, record) not in ("", record.routing.traffic),
        reverts=reverts,
    )


def asks_of_file(spec: Describes, record: Delivery) -> Asked:
    """What is asked of the history of the file that describes an app or a release group; ``spec`` is what it says."""
    retry, operator = spec.retry, record.operator
    return Asked(
        retries_after=operator.retry if retry and retry.number > operator.retry else None,
        suspension=operator.suspended is (spec.suspend is None),
    )


def asks_for_names(desired: Desired, record: Record) -> str:
    """The commit of main since which the contents of ``primary.yaml`` count; empty where the file has not changed
    since.

    It is the commit of the record's look, or of the ledger's where the record is new.
    """
    primary, memory = desired.primary, desired.memory
    since = record.git.primary_by or (memory.primary_by if memory else "")
    return since if primary and since != primary.changed_by.commit else ""


def asks_for_reverts(desired: Desired, record: Record) -> bool:
    """Whether the target names another version than the one that traffic follows, and one that is already known: then
    its history counts.

    A version that ``app.yaml`` names never goes back by itself: no revert of a push made it the target.
    """
    digest = _wanted(desired, record)
    version = record.version(digest)
    if version is None or digest == _goal(desired, record):
        return False
    return version.was_active or record.objection(digest) is not None


def precedes_primary(world: World, entry: Entry) -> bool:
    """Whether an entry came into main before the last change of ``primary.yaml``; not where that is unknown."""
    primary = world.desired.primary
    return bool(primary and primary.changed_by.landed_after(entry.source))


def _wanted(desired: Desired, record: Record) -> str:
    """The digest that the target names, where it matters how it came to; empty where ``app.yaml`` names the version, or
    nothing serves yet.
    """
    target = desired.target
    return resolve(record, target.snapshot) if target and not target.pinned and record.routing.traffic else ""


def _goal(desired: Desired, record: Record) -> str:
    if record.override:
        return record.override.to_digest
    return resolve(record, desired.primary.snapshot) if desired.primary else record.routing.traffic

"""What people ask of the agent at the live object of an app or a release group (decision 4): new requests, what an
abort would do, and which manual gate is meant.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from gitops_bg.core.errors import CommandFailed, ObjectNotFound
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, Version
from gitops_bg.core.transitions.journal import Aborting


def new_request(
    verb: OperatorCommand,
    by: str,
    reason: str,
    to_version: int | None = None,
    *,
    force: bool = False,
    about: Iterable[str] = (),
    live: str = "",
) -> Request:
    """Return a request without an answer yet. ``about`` and ``live`` are digests, see `Request`."""
    now = datetime.now(UTC)
    return Request(uuid.uuid4().hex, verb, by, now, reason, to_version, force=force, about=tuple(about), live=live)


def demand_abortable(record: Record, app: AppKey, found: Aborting) -> Aborting:
    """Return what an abort would do. Raises `CommandFailed` where that is nothing."""
    live = record.version(found.live)
    if not found and live is None:
        raise CommandFailed(f"{app}: there was nothing to abort")
    if not found and live is not None:
        stays = f"{live.name} stays live, and `gitops-bg rollback {app}` leaves it"
        raise CommandFailed(f"{app}: there was nothing to abort; {stays}")
    return found


def abort_says(app: object, found: Aborting) -> str:
    """Return what an abort would do, as a sentence."""
    goes = f"goes back to {found.goes_to.name}" if found.goes_to else "stays where it is"
    return f"{app}: stops {names_of(found.stops)}; live traffic {goes}"


def names_of(versions: Iterable[Version]) -> str:
    """Return the names of versions, in words."""
    return ", ".join(each.name for each in versions)


def new_gate_request(verb: OperatorCommand, by: str, reason: str, gate: str) -> Request:
    """Return a request about a manual gate."""
    return replace(new_request(verb, by, reason), gate=gate)


def gate_named(subject: object, gates: Sequence[Hook], name: str, file: str) -> Hook:
    """Return the manual gate of this name, or the only one. Raises `ObjectNotFound`."""
    names = ", ".join(hook.name for hook in gates)
    if not gates:
        raise ObjectNotFound(f"{subject} has no manual gate; one is a webhook of type confirm-* without url in {file}")
    named = [hook for hook in gates if hook.name == name or (not name and len(gates) == 1)]
    if not named and name:
        raise ObjectNotFound(f"{subject} has no gate {name}; it has: {names}")
    if not named:
        raise ObjectNotFound(f"{subject} has several gates; say which one: {names}")
    return named[0]

"""An operator's request to the cluster, carried out by the agent, or by this process if no agent answers.

The request waits at the app's object until it was answered once; the agent writes it to the ledger, now or later. It
names what its writer saw: which versions it is about, and what was live.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.offline import Offline
from gitops_bg.cli.errors import CommandFailed, ObjectNotFound
from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.options.options import PatienceOptions
from gitops_bg.cli.views.output import Output
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import OperatorState, Record
from gitops_bg.core.model.version import AppKey


@dataclass(frozen=True, slots=True)
class Answered:
    """How a request ended. ``by_agent``: an agent answered it; otherwise this process did."""

    after: Record
    by_agent: bool


def now() -> datetime:
    """Return the time of the real clock."""
    return datetime.now(UTC)


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
    return Request(uuid.uuid4().hex, verb, by, now(), reason, to_version, force=force, about=tuple(about), live=live)


def new_gate_request(verb: OperatorCommand, by: str, reason: str, gate: str) -> Request:
    """Return a request about a manual gate."""
    return replace(new_request(verb, by, reason), gate=gate)


def facts_of(cluster: Offline, app: AppKey) -> Facts:
    """Return the facts that the cluster has of the app. Raises `ObjectNotFound`."""
    facts = cluster.facts()
    if facts is None:
        raise ObjectNotFound(f"the cluster runs no app {app}")
    return facts


def carry_out(cluster: Offline, request: Request, patience: PatienceOptions, output: Output) -> Answered:
    """Write the request; wait for an agent, or do its work. Raises `CommandFailed` where it takes too long."""
    output.writes()
    cluster.ask(request)
    try:
        by_agent = _is_answered_by_agent(cluster, request, patience)
        if not by_agent:
            output.note(f"no agent answered within {spoken(patience.grace)}; acting on the cluster directly")

        def settled(record: Record) -> bool:
            return record.operator.has_answered(request.id) and _has_arrived(record)

        done = (
            cluster.wait(settled, patience.timeout) if by_agent else cluster.act(settled, patience.timeout, output.note)
        )
    except KeyboardInterrupt:
        _withdraw(cluster, request, output)
        raise
    if not done:
        raise _not_done(cluster.app, patience)
    return Answered(cluster.record, by_agent)


def _is_answered_by_agent(cluster: Offline, request: Request, patience: PatienceOptions) -> bool:
    """Wait for an agent. One that answers others meanwhile is there, and gets the time again; a request that somebody
    overwrote is written again. Raises `CommandFailed` where that goes on for too long.
    """
    until = now() + timedelta(seconds=patience.timeout)
    while now() < until:
        seen = cluster.record.operator

        def has_news(record: Record, seen: OperatorState = seen) -> bool:
            return record.operator.request != seen.request or cluster.is_lost(request)

        if not seen.has_answered(request.id) and not cluster.wait(has_news, patience.grace):
            return False
        if cluster.record.operator.has_answered(request.id):
            return True
        if cluster.is_lost(request):
            cluster.ask(request)
    raise _not_done(cluster.app, patience)


def _withdraw(cluster: Offline, request: Request, output: Output) -> None:
    """Take back the request of a command that is interrupted: nobody waits for what it does days later."""
    try:
        cluster.withdraw(request)
    except GitopsBgError as error:
        output.note(f"{cluster.app}: the request could not be taken back, and an agent may still answer it: {error}")
    else:
        answered = cluster.record.operator.has_answered(request.id)
        became = "was carried out already" if answered else "is taken back"
        output.note(f"{cluster.app}: interrupted; the request {became}")


def _not_done(app: AppKey, patience: PatienceOptions) -> CommandFailed:
    return CommandFailed(f"{app}: not done within {spoken(patience.timeout)}; see `gitops-bg tree {app}`")


def _has_arrived(record: Record) -> bool:
    """Return whether no shift of traffic is under way."""
    return record.routing.switch is None and (
        record.routing.override is None or record.routing.traffic == record.routing.override.to_digest
    )

"""An operator's request to the cluster, carried out by the agent, or by this process if no agent answers.

The request stays in the record until it was carried out once; the agent writes it to the ledger, now or later.
"""

import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.offline import Offline
from gitops_bg.cli.errors import CommandFailed, ObjectNotFound
from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.options.options import PatienceOptions
from gitops_bg.cli.views.output import Output
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey


@dataclass(frozen=True, slots=True)
class Answered:
    """How a request ended. ``by_agent``: an agent answered it; otherwise this process did."""

    before: Record
    after: Record
    by_agent: bool


def now() -> datetime:
    """Return the time of the real clock."""
    return datetime.now(UTC)


def new_request(
    verb: OperatorCommand, by: str, reason: str, to_version: int | None = None, *, force: bool = False
) -> Request:
    """Return a request without an answer yet."""
    return Request(uuid.uuid4().hex, verb, by, now(), reason, to_version, force=force)


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
    before = cluster.record
    cluster.ask(request)
    by_agent = cluster.wait(lambda record: record.operator.request == request.id, patience.grace)
    if not by_agent:
        output.note(f"no agent answered within {spoken(patience.grace)}; acting on the cluster directly")

    def settled(record: Record) -> bool:
        return record.operator.request == request.id and _has_arrived(record)

    done = cluster.wait(settled, patience.timeout) if by_agent else cluster.act(settled, patience.timeout, output.note)
    if not done:
        raise CommandFailed(
            f"{cluster.app}: not done within {spoken(patience.timeout)}; see `gitops-bg tree {cluster.app}`"
        )
    return Answered(before, cluster.record, by_agent)


def _has_arrived(record: Record) -> bool:
    """Return whether no shift of traffic is under way."""
    return record.routing.switch is None and (
        record.routing.override is None or record.routing.traffic == record.routing.override.to_digest
    )

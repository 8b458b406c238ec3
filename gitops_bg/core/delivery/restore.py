"""The beginning of a record: what was answered in a former life, and what the ledger still knows of that.

Main alone is enough to serve (DESIGN §4.7); the ledger adds history and holds.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import Delivery
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.statements import preceded

D = TypeVar("D", bound=Delivery)


def begun(record: D, uid: str, retry: Retry | None, requests: Iterable[Request]) -> D:
    """A record that begins now; ``uid`` is that of the live object that keeps it.

    Requests made before it began were answered in its former life, or have nothing left to act on; so was a retry.
    """
    operator = replace(record.operator, retry=retry.number if retry is not None else 0)
    for request in requests:
        operator = operator.answering(request.id)
    return replace(record, epoch=uid[:8] or "0", operator=operator, unrecalled=True)


def recalled(record: D, memory: LedgerMemory) -> D:
    """The record with what the ledger knows, which may be nothing; what the record knows itself takes precedence."""
    if not record.unrecalled:
        return record
    before = (replace(each, sequence=0) for each in memory.statements)  # Of a former life: any retry is newer.
    return replace(
        record,
        unrecalled=False,
        rollout=max(record.rollout, memory.rollout),
        statements=preceded(record.statements, before),
    )

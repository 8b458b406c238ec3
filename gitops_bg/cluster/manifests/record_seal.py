"""The seal of a record in a status: it tells the record as an agent wrote it from one that somebody edited. Pure.

A record with another content than its seal says is nobody's memory: it counts as lost, whatever it says, and is made
anew from ``primary.yaml``, the ledger and the cluster (docs/decisions/0022). The seal keeps out mistakes: an edit by
hand, a tool that merges statuses. Against somebody who computes it anew, only the rights on the status help.
"""

import hashlib

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.text.foreign_json import sorted_json

RECORD, SEAL = "record", "seal"
_DIGITS = 16


def sealed(record: Object) -> Object:
    """Return a stored record with its seal."""
    return {**record, SEAL: _seal_of(record)}


def was_edited(status: Object) -> bool:
    """Whether a status has a record that is not as an agent wrote it."""
    record = status.get(RECORD)
    if record is None:
        return False
    if not isinstance(record, dict):
        return True
    return record.get(SEAL) != _seal_of({key: value for key, value in record.items() if key != SEAL})


def without_edited(status: Object) -> Object:
    """Return the status without a record that somebody edited."""
    return {key: value for key, value in status.items() if key != RECORD} if was_edited(status) else status


def _seal_of(record: Object) -> str:
    """A hash of the content, whatever the order of its keys. A record has no fractions, which servers may write
    otherwise.
    """
    return hashlib.sha256(sorted_json(record)).hexdigest()[:_DIGITS]

"""How a status stores a record: packed into one text, with a seal. Pure.

A record is for the agent alone, so that it costs the API server one field: as an object it made up half of the status,
and each of its keys a second time in ``managedFields``. `gitops-bg plan --dump-observed` shows that of an app.

The seal tells a record as an agent wrote it from one that somebody edited. A record with another content than its seal
says is nobody's memory: it counts as lost, whatever it says, and is made anew from ``primary.yaml``, the ledger and the
cluster (docs/decisions/0022). The seal keeps out mistakes: an edit by hand, a tool that merges statuses. Against
somebody who computes it anew, only the rights on the status help.
"""

import binascii
import hashlib
import zlib
from base64 import b64decode, b64encode

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.foreign_json import reread_json, sorted_json

RECORD = "record"
_DIGITS = 16
_LARGEST = 16 * 1024 * 1024
"""Bytes of a record; the API server takes 1.5 MiB of an object, which somebody could make a gigabyte of zeros of."""


def packed(record: Object, live: Object | None = None) -> str:
    """Return the text that stores a record: that of the ``live`` status where it has the same content.

    So nothing new is written where another release of zlib packs the same content into other bytes.
    """
    content = sorted_json(record)
    seal, stored = _seal_of(content), (live or {}).get(RECORD)
    if isinstance(stored, str) and stored.startswith(f"{seal}."):
        return stored
    return f"{seal}.{b64encode(zlib.compress(content, zlib.Z_BEST_COMPRESSION)).decode()}"


def unpacked(status: Object) -> Object | None:
    """Return the record in a status: an empty one where it has none, and None where it is not as an agent wrote it.

    >>> unpacked({RECORD: packed({"epoch": "e1"})}), unpacked({}), unpacked({RECORD: "e1"})
    ({'epoch': 'e1'}, {}, None)
    """
    stored = status.get(RECORD)
    if stored is None:
        return {}
    if not isinstance(stored, str):
        return None
    seal, _, text = stored.partition(".")
    try:
        content = _inflated(b64decode(text, validate=True))
        record = reread_json(content) if seal == _seal_of(content) else None
    except (binascii.Error, zlib.error, ValueError, RecursionError):  # Whoever computes a seal may seal anything.
        return None
    return record if isinstance(record, dict) else None


def _inflated(compressed: bytes) -> bytes:
    stream = zlib.decompressobj()
    content = stream.decompress(compressed, _LARGEST)
    if stream.unconsumed_tail or not stream.eof or stream.unused_data:
        raise zlib.error("it is too large, or does not end where it says")
    return content


def _seal_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]

"""Raw commits as only who writes objects by hand makes them."""

from __future__ import annotations

import re

_SIGNATURE = re.compile(rb"^gpgsig .*\n(?: .*\n)*", re.MULTILINE)


def with_signature_before(commit: bytes, line: bytes) -> bytes:
    """The commit with its signature before the first line that begins so; what is signed is the same."""
    found = _SIGNATURE.search(commit)
    assert found is not None
    rest = commit[: found.start()] + commit[found.end() :]
    at = 0 if rest.startswith(line) else rest.index(b"\n" + line) + 1
    return rest[:at] + found[0] + rest[at:]

"""The hidden first line of a pull request's body: its app and cluster, its offer, and hashes of the last write.

Nothing else is stored about writes: a new agent reads it, and writes nothing twice.
"""

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

_LINE = re.compile(r"\s*<!-- gitops-bg( [^<>\n]*) -->")
_FIELD = re.compile(r" ([a-z]+)=([^ ]*)")
_SAFE = "/:@#+"


@dataclass(frozen=True, slots=True)
class Marker:
    """``offer`` is from ``core.model.journal.offer_of``; empty after the agent has withdrawn it."""

    app: str
    cluster: str
    offer: str
    text: str = ""
    """A hash of title and body as written."""
    people: str = ""
    """A hash of its requested reviewers and assignees."""

    def line(self) -> str:
        """Return the hidden line. No value can end it, or add another field.

        >>> marker_in(Marker("a --> b", "c d", "e").line()) == Marker("a --> b", "c d", "e")
        True
        """
        values = (("app", self.app), ("cluster", self.cluster), ("offer", self.offer))
        hashes = (("text", self.text), ("people", self.people))
        said = " ".join(f"{key}={_quoted(value)}" for key, value in (*values, *hashes))
        return f"<!-- gitops-bg {said} -->"


def comment_marker(app: str, cluster: str) -> str:
    """Return the hidden line that begins the one comment of a cluster.

    >>> comment_marker("shop/web", "prod --> eu")
    '<!-- gitops-bg: shop/web prod%20-%2D%3E%20eu -->'
    """
    return f"<!-- gitops-bg: {_quoted(app)} {_quoted(cluster)} -->"


def marker_in(body: str) -> Marker | None:
    """Return the marker at the beginning of a body; None without one: one further down is somebody's text."""
    found = _LINE.match(body)
    if found is None:
        return None
    said = {key: unquote(value) for key, value in _FIELD.findall(found[1])}
    if not {"app", "cluster", "offer"} <= said.keys():
        return None
    return Marker(said["app"], said["cluster"], said["offer"], said.get("text", ""), said.get("people", ""))


def without_marker(body: str) -> str:
    """Return the visible part of a body."""
    return _LINE.sub("", body, count=1).lstrip("\r\n") if _LINE.match(body) else body


def hashed(*parts: str) -> str:
    """Return a short hash of texts, in their order; it distinguishes them, and is no secret."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _quoted(value: str) -> str:
    """Escape ``--``: not every renderer accepts it inside a comment."""
    return quote(value, safe=_SAFE).replace("--", "-%2D")

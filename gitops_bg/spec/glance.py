"""What a list shows of a status, read without its model: pydantic takes a tenth of a second of CPU to import.

The model is `spec.status`, which says what each word means; a test holds this reader to it. As there, parts that
somebody else wrote wrongly are left out. Decides nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_bg.core.model.conditions import Condition

_WORDS = {"True": True, "False": False}


@dataclass(frozen=True, slots=True)
class VersionGlance:
    """One version; ``number`` is 0 where there is none."""

    number: int = 0
    color: str = ""
    image: str = ""
    digest: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class GateGlance:
    """One gate."""

    kind: str
    open: bool


@dataclass(frozen=True, slots=True)
class StatusSummary:
    """A status at a glance; texts are empty where it has none."""

    phase: str
    message: str
    active: VersionGlance
    candidate: VersionGlance
    gates: tuple[GateGlance, ...]
    pull_request: str
    """Number, address and state."""
    conditions: tuple[Condition, ...]

    @classmethod
    def read(cls, stored: object) -> "StatusSummary":
        """Read a live status, whichever release wrote it."""
        status = stored if isinstance(stored, Mapping) else {}
        return cls(
            _text(status, "phase"),
            _text(status, "message"),
            _version(_part(status, "active")),
            _version(_part(status, "candidate")),
            tuple(_gates(status)),
            _pull_request(_part(status, "pullRequest")),
            conditions_of(status),
        )


@dataclass(frozen=True, slots=True)
class GroupGlance:
    """The status of a release group at a glance; texts are empty where it has none."""

    phase: str
    message: str
    active: str
    legacy: str
    candidates: tuple[str, ...]
    members: tuple[str, ...]
    """The apps that serve in its versions."""
    pull_request: str
    """Number, address and state."""
    conditions: tuple[Condition, ...]

    @classmethod
    def read(cls, stored: object) -> "GroupGlance":
        """Read a live status, whichever release wrote it."""
        status = stored if isinstance(stored, Mapping) else {}
        members = (app for version in _items(status, "versions") for app in _texts(version, "services"))
        return cls(
            _text(status, "phase"),
            _text(status, "message"),
            _text(status, "active"),
            _text(status, "legacy"),
            tuple(_texts(status, "candidates")),
            tuple(dict.fromkeys(members)),
            _pull_request(_part(status, "pullRequest")),
            conditions_of(status),
        )


def conditions_of(status: object) -> tuple[Condition, ...]:
    """Return the conditions of a live status."""
    found = _items(status if isinstance(status, Mapping) else {}, "conditions")
    sound = (each for each in found if _are_texts(each, ("type", "status"), ("reason", "message")))
    return tuple(
        Condition(each["type"], _WORDS.get(each["status"]), _text(each, "reason"), _text(each, "message"))
        for each in sound
    )


def pull_request_text(number: int | None, url: str, state: str, closed_by: str) -> str:
    """Return a pull request as text in a line.

    >>> pull_request_text(7, "https://forge/7", "closed", "ada")
    '#7 https://forge/7 (closed by ada)'
    """
    by = f" by {closed_by}" if closed_by else ""
    return f"#{number} {url} ({state or 'unknown'}{by})"


def _version(part: Mapping[str, Any]) -> VersionGlance:
    texts = (_text(part, key) for key in ("color", "image", "digest", "name"))
    return VersionGlance(_number(part, "version") or 0, *texts)


def _gates(status: Mapping[str, Any]) -> Iterator[GateGlance]:
    for each in _items(status, "gates"):
        if isinstance(each.get("open"), bool) and _are_texts(each, ("kind",), ("reason", "until")):
            yield GateGlance(each["kind"], each["open"])


def _pull_request(part: Mapping[str, Any]) -> str:
    texts = (_text(part, key) for key in ("url", "state", "closedBy"))
    return pull_request_text(_number(part, "number"), *texts) if part else ""


def _are_texts(of: Mapping[str, Any], demanded: tuple[str, ...], more: tuple[str, ...]) -> bool:
    there = all(isinstance(of.get(key), str) for key in demanded)
    return there and all(isinstance(of.get(key), str | None) for key in more)


def _text(of: Mapping[str, Any], key: str) -> str:
    value = of.get(key)
    return value if isinstance(value, str) else ""


def _texts(of: Mapping[str, Any], key: str) -> Iterator[str]:
    value = of.get(key)
    return (each for each in (value if isinstance(value, list) else ()) if isinstance(each, str))


def _number(of: Mapping[str, Any], key: str) -> int | None:
    value = of.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _part(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = of.get(key)
    return value if isinstance(value, Mapping) else {}


def _items(of: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    value = of.get(key)
    return (each for each in (value if isinstance(value, list) else ()) if isinstance(each, Mapping))

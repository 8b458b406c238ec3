"""The common types of all chats: the destination of an alert, and its message. Knows no chat."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_bg.core.model.hooks import Alert, Severity
from gitops_bg.core.model.subject import Subject


@dataclass(frozen=True, slots=True)
class Destination:
    """The destination of an alert. ``address`` and ``token`` are secrets."""

    address: str = field(repr=False)
    channel: str = "general"
    username: str = "gitops-bg"
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One POST of JSON. ``status`` translates a response's status, where a chat reports errors in the body."""

    url: str = field(repr=False)
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    status: Callable[[int, str], int] = lambda status, _body: status


Format = Callable[[Subject, Alert, Destination], Message]

HEX = {Severity.INFO: "#0076D7", Severity.WARN: "#FFA500", Severity.ERROR: "#FF0000"}
"""Colors for chats without color names; blue and red are Flagger's."""


def title_of(subject: Subject) -> str:
    """The name of an app, or a release group, in chats, as in Flagger.

    >>> from gitops_bg.core.model.version import AppKey
    >>> title_of(AppKey("shop", "web"))
    'web.shop'
    """
    return f"{subject.name}.{subject.namespace}"

"""The common types of all chats: the destination of an alert, and its message. Knows no chat."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

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


_OF_A_LINK = ":/?#[]@!$&'*+,;=%~-._"
"""What stays in the address of a link; the rest, such as ``)`` and ``|``, would end it in one chat or another."""


def linkable(url: str) -> str:
    """The address of a page as every chat takes it; empty where it is none of the web.

    >>> linkable("https://git.example.com/shop/config/pulls/7?a=(b|c)"), linkable("javascript:alert(1)")
    ('https://git.example.com/shop/config/pulls/7?a=%28b%7Cc%29', '')
    """
    return quote(url, safe=_OF_A_LINK) if url.startswith(("https://", "http://")) else ""


def markdown_link(title: str, url: str) -> str:
    """A link as Discord and Rocket.Chat write it.

    >>> markdown_link("Commit 645138c7f9", "https://git.example.com/shop/config/commit/645138c7f9")
    '[Commit 645138c7f9](https://git.example.com/shop/config/commit/645138c7f9)'
    """
    return f"[{title}]({url})"


def title_of(subject: Subject) -> str:
    """The name of an app, or a release group, in chats, as in Flagger.

    >>> from gitops_bg.core.model.version import AppKey
    >>> title_of(AppKey("shop", "web"))
    'web.shop'
    """
    return f"{subject.name}.{subject.namespace}"

"""Apprise: services without a format of their own here, by a URL from a Secret. An optional extra, imported when used.

Apprise sends by itself, so the rules of outgoing calls are set on each of its services: certificates are verified,
redirects are not followed, times are bounded. Whoever writes a Secret must not read files of the agent by it: only
services are used that send over the network, and no parameter that names a file.

https://github.com/caronc/apprise/wiki
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from gitops_bg.core.model.hooks import Alert, Severity
from gitops_bg.core.model.subject import Subject
from gitops_bg.notify.message import title_of
from gitops_bg.outbound.addresses import EVERYWHERE, AddressRules
from gitops_bg.outbound.connecting import permitted_connections

if TYPE_CHECKING:
    from apprise import Apprise

APPRISE = "apprise"
"""The type of the AlertProviders."""
INSTALL = "pip install 'gitops-bg[apprise]'"

_CHATS = (
    "dingtalk feishu lark matrix matrixs mmost mmosts nctalk nctalks signal signals tgram webex wecombot wxteams zulip"
)
_ON_CALL = "ilert opsgenie pagerduty spike splunk squadcast victorops"
_TO_PEOPLE = "bark barks gotify gotifys mailto mailtos ntfy ntfys pover twilio"
_OF_YOUR_OWN = "form forms hassio hassios json jsons xml xmls"
SERVICES = frozenset(" ".join((_CHATS, _ON_CALL, _TO_PEOPLE, _OF_YOUR_OWN)).split())
"""The schemes of URLs that are used: others reach devices of the machine, or were not looked at."""
_FILES = frozenset({"template", "attach", "keyfile", "pgp", "pgpkey", "pgppub", "pgpprv"})
"""Parameters by which a service reads a file of the agent's machine."""
_BETWEEN_PARAMETERS = re.compile("[&;?#]")
"""More than a URL has: apprise reads them in its own way."""
_SECONDS = 4.0
"""For a connection, and for each read."""

_KINDS = {Severity.INFO: "info", Severity.WARN: "warning", Severity.ERROR: "failure"}
SENT, NOT_SENT = 200, 0
"""As in HTTP: what is not sent is tried again."""


def unavailable() -> Mapping[str, str]:
    """The types of providers that this process cannot send by, and what to do about it."""
    return {} if find_spec(APPRISE) else {APPRISE: INSTALL}


def sender(url: str, subject: Subject, alert: Alert, rules: AddressRules = EVERYWHERE) -> Callable[[], tuple[int, str]]:
    """Return the function that sends an alert to where ``rules`` permit; its result is `SENT`, or `NOT_SENT` and why.

    Raises ``ValueError`` for a URL that is not used, ``ImportError`` where the extra is missing.
    """
    box = _box(url)
    title, text = title_of(subject), text_of(alert)

    def send() -> tuple[int, str]:
        with _complaints() as complaints, permitted_connections(rules) as refused:
            sent = box.notify(body=text, title=title, notify_type=_KINDS[alert.severity], body_format="text")
        return (SENT, "") if sent else (NOT_SENT, "; ".join(refused[:1] or complaints) or "apprise could not send it")

    return send


def text_of(alert: Alert) -> str:
    """An alert as plain text: its sentence, its facts, its links.

    >>> from datetime import UTC, datetime
    >>> print(text_of(Alert(Severity.INFO, "v2 is live", datetime(2026, 1, 1, tzinfo=UTC), (("App", "shop/web"),))))
    v2 is live
    <BLANKLINE>
    App: shop/web
    """
    lines = [f"{title}: {value}" for title, value in (*alert.facts, *alert.links)]
    return "\n".join([alert.text, "", *lines])


def require_usable(url: str) -> None:
    """Raise ``ValueError`` unless a URL is one of `SERVICES`, and names no file.

    >>> require_usable("ntfys://ntfy.example.com/deployments")
    >>> require_usable("tgram://token/chat?template=/etc/passwd")
    Traceback (most recent call last):
    ValueError: the parameter template of a URL of apprise is not used: it reads a file of the agent
    """
    scheme, found, rest = url.partition("://")
    if not found or scheme.lower() not in SERVICES:
        raise ValueError(f"this URL of apprise is not used: it is to begin with one of {', '.join(sorted(SERVICES))}")
    for parameter in _BETWEEN_PARAMETERS.split(rest.partition("?")[2]):
        name = unquote_plus(parameter.partition("=")[0])
        if name.lower().strip("-+: ") in _FILES:
            raise ValueError(f"the parameter {name} of a URL of apprise is not used: it reads a file of the agent")


def _box(url: str) -> "Apprise":
    """One service that keeps the rules of outgoing calls, whatever its URL says; we try again ourselves."""
    from apprise import Apprise, AppriseAsset

    require_usable(url)
    asset = AppriseAsset(
        app_id="gitops-bg",
        async_mode=False,
        http_redirects=False,
        pem_autogen=False,
        pgp_autogen=False,
        secure_logging=True,
        storage_mode="memory",
    )
    with _complaints() as complaints:
        service = Apprise.instantiate(url, asset=asset)
    if service is None:
        raise ValueError("; ".join(complaints) or "apprise does not understand the URL of the Secret")
    service.redirects, service.verify_certificate = False, True
    service.socket_connect_timeout = service.socket_read_timeout = _SECONDS
    service.retry, service.optional = 0, False
    return Apprise(service, asset=asset)


_said: ContextVar[list[str] | None] = ContextVar("_said", default=None)
"""What apprise complained of in this call, on whichever of its threads: it hands the context on to them."""


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """The warnings of apprise while it works for us: it has no other way to say why it failed."""
    said: list[str] = []
    handler = _OfThisCall()
    logger, token = logging.getLogger(APPRISE), _said.set(said)
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)
        _said.reset(token)


class _OfThisCall(logging.Handler):
    """Keeps a warning with the call that it is about, once, however many calls are under way."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        said, text = _said.get(), record.getMessage()
        if said is not None and text not in said:
            said.append(text)

"""Sends alerts to chats and other services, by apprise: it knows the format of each. Imported when it is used.

Apprise sends by itself, so the rules of outgoing calls are set on each of its services: certificates are verified,
redirects are not followed, times are bounded. Whoever writes a Secret must not read files of the agent by it: only
services are used that send over the network, and no parameter that names a file.

https://github.com/caronc/apprise/wiki
"""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_plus, urlsplit

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.hooks import Alert, Severity
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.outbound.addresses import EVERYWHERE, AddressRules
from gitops_bg.outbound.connections import permitted_connections

if TYPE_CHECKING:
    from apprise import Apprise, AppriseAsset, NotifyBase


_CHATS = (
    "dingtalk discord feishu gchat lark matrix matrixs mmost mmosts nctalk nctalks rocket rockets signal signals slack "
    "tgram webex wecombot workflow workflows wxteams zulip"
)
_ON_CALL = "ilert opsgenie pagerduty spike splunk squadcast victorops"
_TO_PEOPLE = "bark barks gotify gotifys mailto mailtos ntfy ntfys pover twilio"
_OF_YOUR_OWN = "form forms hassio hassios json jsons xml xmls"
SERVICES = frozenset(" ".join((_CHATS, _ON_CALL, _TO_PEOPLE, _OF_YOUR_OWN)).split())
"""The schemes of URLs that are used: others reach devices of the machine, or were not looked at."""
_NATIVE = {"msteams": "workflow", "discord": "discord", "gchat": "gchat"}
"""Chats of which apprise takes the address of a webhook as it is, and the scheme that it makes of it."""
_SLACK = "https://hooks.slack.com/services/"
_ROCKET = re.compile(r"http(?P<s>s?)://(?P<host>[^/@]+)/hooks/(?P<token>[^?#]+)")
_FILES = frozenset({"template", "attach", "keyfile", "pgp", "pgpkey", "pgppub", "pgpprv"})
"""Parameters by which a service reads a file of the agent's machine."""
_BETWEEN_PARAMETERS = re.compile("[&;?#]")
"""More than a URL has: apprise reads them in its own way."""
_CALLS_OR_LEADS = re.compile(r"(?<![\w.+-])@(?=[\w&!])|<(?=[@#!]|at>|users/|https?:)|\](?=\()", re.IGNORECASE)
"""Where a chat begins to see somebody who is called (``@here``, ``<@&1>``, ``<at>``), or other words for an address."""
_SLACK_NAME = re.compile("[+#@]?[A-Za-z0-9_-]{1,32}")
_SLACK_ID = re.compile("[CDGU][A-Z0-9]{8,}")
_ROCKET_NAME = re.compile("[#@]?[A-Za-z0-9_-]+")
_SECONDS = 4.0
"""For a connection, and for each read."""
_OF_A_LINK = ":/?#[]@!$&'*+,;=%~-._"
"""What stays in the address of a link; the rest, such as ``)`` and ``|``, would end it in one chat or another."""

_KINDS = {Severity.INFO: "info", Severity.WARN: "warning", Severity.ERROR: "failure"}
SENT, NOT_SENT = 200, 0
"""As in HTTP: what is not sent is tried again."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an alert goes: the type of the AlertProvider, and its fields. ``address`` and ``token`` are secrets."""

    type: str
    address: str = field(repr=False)
    channel: str = "general"
    username: str = "gitops-bg"
    token: str = field(default="", repr=False)


def sender(
    to: Destination, subject: AppOrGroup, alert: Alert, rules: AddressRules = EVERYWHERE
) -> Callable[[], tuple[int, str]]:
    """Return the function that sends an alert to where ``rules`` permit; its result is `SENT`, or `NOT_SENT` and why.

    Raises ``ValueError`` for an address that is not used.
    """
    box = _box(to)
    away = rules.refusal_of_literal(str(getattr(box[0], "host", "") or ""))  # also where a proxy would be asked for it
    title, text = title_of(subject), text_of(alert)

    def send() -> tuple[int, str]:
        if away:
            return NOT_SENT, away
        with _complaints() as complaints, permitted_connections(rules) as refused:
            sent = box.notify(body=text, title=title, notify_type=_KINDS[alert.severity], body_format="text")
        return (SENT, "") if sent else (NOT_SENT, "; ".join(refused[:1] or complaints) or "apprise could not send it")

    return send


def title_of(subject: AppOrGroup) -> str:
    """Return the name of an app, or a release group, in chats, as in Flagger.

    >>> from gitops_bg.core.model.version import AppKey
    >>> title_of(AppKey("shop", "web"))
    'web.shop'
    """
    return f"{subject.name}.{subject.namespace}"


def linkable(url: str) -> str:
    """Return the address of a page as every chat takes it; empty where it is none of the web.

    >>> linkable("https://git.example.com/shop/config/pulls/7?a=(b|c)"), linkable("javascript:alert(1)")
    ('https://git.example.com/shop/config/pulls/7?a=%28b%7Cc%29', '')
    """
    return quote(url, safe=_OF_A_LINK) if url.startswith(("https://", "http://")) else ""


def text_of(alert: Alert) -> str:
    """Return an alert as plain text: its sentence, its facts, its links; what an author wrote in it calls nobody.

    Links stay as they are: `linkable` leaves no such character in them.

    >>> from datetime import UTC, datetime
    >>> print(text_of(Alert(Severity.INFO, "v2 is live", datetime(2026, 1, 1, tzinfo=UTC), (("App", "shop/web"),))))
    v2 is live
    <BLANKLINE>
    App: shop/web
    """
    written = "\n".join([alert.text, "", *(f"{title}: {value}" for title, value in alert.facts)])
    quiet = _CALLS_OR_LEADS.sub("\\g<0>\N{ZERO WIDTH SPACE}", written)
    return "\n".join([quiet, *(f"{title}: {address}" for title, address in alert.links)])


def url_of(to: Destination) -> str:
    """Return the URL that apprise gets. Raises ``ValueError`` for an address, or a channel, that is none of the chat's.

    >>> url_of(Destination("slack", "https://hooks.slack.com/services/T0/B0/x", "on-call"))
    'slack://gitops-bg@T0/B0/x/#on-call'
    >>> url_of(Destination("rocket", "https://chat.example.com/hooks/5f/x"))
    'rockets://gitops-bg:5f%2Fx@chat.example.com/#general'
    """
    who = quote(to.username, safe="")
    if to.token:
        return f"slack://{who}@{quote(to.token, safe='')}/{_channel(to, _SLACK_NAME)}"
    if to.type == "slack" and to.address.startswith(_SLACK):
        # A webhook has a channel of its own, which takes what apprise has no way to name.
        named = _SLACK_NAME.fullmatch(to.channel) is not None
        where = _channel(to, _SLACK_NAME) if named else ""
        return f"slack://{who}@{to.address.removeprefix(_SLACK).rstrip('/')}/{where}"
    if to.type == "rocket" and (found := _ROCKET.fullmatch(to.address)):
        where = _channel(to, _ROCKET_NAME)
        return f"rocket{found['s']}://{who}:{quote(found['token'], safe='')}@{found['host']}/{where}"
    if to.type in _NATIVE and urlsplit(to.address).scheme == "https":
        return to.address
    if to.type == "apprise":
        require_usable(to.address)
        return to.address
    raise ValueError(_unknown(to))


def _channel(to: Destination, name: re.Pattern[str]) -> str:
    """Return the channel, the id of one, or the person, as apprise reads it of a URL."""
    if not name.fullmatch(to.channel):
        raise ValueError(
            f"apprise has no way to name the channel {to.channel} of {to.type}: its name is too long or odd"
        )
    if to.type == "slack" and _SLACK_ID.fullmatch(to.channel):
        return f"+{to.channel}"
    return to.channel if to.channel[0] in "@+" else f"#{to.channel.lstrip('#')}"


def require_usable(url: str) -> None:
    """Raise ``ValueError`` unless a URL is one of `SERVICES`.

    >>> require_usable("ntfys://ntfy.example.com/deployments")
    """
    scheme, found, _ = url.partition("://")
    if not found or scheme.lower() not in SERVICES:
        raise ValueError(f"this URL of apprise is not used: it is to begin with one of {', '.join(sorted(SERVICES))}")


def _require_no_file(url: str) -> None:
    for parameter in _BETWEEN_PARAMETERS.split(url.partition("?")[2]):
        name = unquote_plus(parameter.partition("=")[0])
        if name.lower().strip("-+: ") in _FILES:
            raise ValueError(f"the parameter {name} of a URL of apprise is not used: it reads a file of the agent")


def _unknown(to: Destination) -> str:
    return f"the address is none of a webhook of {to.type}; for another service: type: apprise, with a URL of apprise"


def _box(to: Destination) -> "Apprise":
    """Return one service that keeps the rules of outgoing calls, whatever its URL says; we try again ourselves."""
    from apprise import Apprise, NotifyFormat

    url, asset = url_of(to), _asset()
    _require_no_file(url)
    with _complaints() as complaints:
        service = Apprise.instantiate(url, asset=asset)
    made = str(service.url()) if service else ""  # type: ignore[no-untyped-call]
    if service is None or not made.startswith(_NATIVE.get(to.type, "")):
        raise ValueError("; ".join(complaints) if to.type == "apprise" and complaints else _unknown(to))
    service.notify_format = NotifyFormat.TEXT  # What authors wrote is no markup of a chat.
    _keep_rules(service)
    return Apprise(service, asset=asset)


def _asset() -> "AppriseAsset":
    from apprise import AppriseAsset

    return AppriseAsset(
        app_id="gitops-bg",
        app_desc="",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        async_mode=False,
        http_redirects=False,
        pem_autogen=False,
        pgp_autogen=False,
        secure_logging=True,
        storage_mode="memory",
    )


def _keep_rules(service: "NotifyBase") -> None:
    """Set the rules of outgoing calls."""
    service.redirects, service.verify_certificate = False, True
    service.socket_connect_timeout = service.socket_read_timeout = _SECONDS
    service.retry, service.optional = 0, False
    # Some wait as long as a service says, and then ask again: our own next attempt does that.
    service.throttle = lambda *_, **__: None  # type: ignore[method-assign]


_said: ContextVar[list[str] | None] = ContextVar("_said", default=None)
"""What apprise complained of in this call, on whichever of its threads: it hands the context on to them."""


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """Yield the warnings of apprise while it works for us: it has no other way to say why it failed."""
    said: list[str] = []
    handler = _OfThisCall()
    logger, token = logging.getLogger("apprise"), _said.set(said)
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

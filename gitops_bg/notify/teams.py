"""Microsoft Teams: an Adaptive Card for Workflows; a MessageCard for the connectors that Microsoft retires.

https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using; the host of an
address tells which of the two it accepts, as in Flux's notification-controller.
"""

from typing import Any
from urllib.parse import urlsplit

from gitops_bg.core.model.hooks import Alert, Severity
from gitops_bg.core.model.subject import Subject
from gitops_bg.notify.message import HEX, Destination, Message, title_of

CARD_VERSION = "1.4"
"""The newest that Teams renders everywhere (prometheus/alertmanager#3920)."""

STYLES = {Severity.INFO: "default", Severity.WARN: "warning", Severity.ERROR: "attention"}


def teams(subject: Subject, alert: Alert, to: Destination) -> Message:
    """The message for Teams. The channel is that of the webhook."""
    card = message_card if is_connector(to.address) else adaptive_card
    return Message(to.address, card(subject, alert))


def is_connector(address: str) -> bool:
    """Whether an address is that of an Office 365 connector.

    >>> is_connector("https://shop.webhook.office.com/webhookb2/1"), is_connector("https://outlook.office.com/webhook/1")
    (True, True)
    >>> is_connector("https://prod-1.westeurope.logic.azure.com:443/workflows/1")
    False
    """
    host = urlsplit(address).hostname or ""
    return host == "outlook.office.com" or host.endswith(".webhook.office.com")


def message_card(subject: Subject, alert: Alert) -> dict[str, Any]:
    """The fields of Flagger's MessageCard."""
    section = {
        "activityTitle": alert.text,
        "activitySubtitle": title_of(subject),
        "facts": [{"name": title, "value": value} for title, value in alert.facts],
    }
    links = [
        {"@type": "OpenUri", "name": title, "targets": [{"os": "default", "uri": url}]} for title, url in alert.links
    ]
    return {
        "@type": "MessageCard",
        "@context": "http://schema.org/extensions",
        "themeColor": HEX[alert.severity].removeprefix("#"),
        "summary": title_of(subject),
        "sections": [section],
    } | ({"potentialAction": links} if links else {})


def adaptive_card(subject: Subject, alert: Alert) -> dict[str, Any]:
    """A message with one card, as the workflow "send webhook alerts to a channel" expects it."""
    title = {"type": "TextBlock", "text": title_of(subject), "size": "large", "weight": "bolder", "wrap": True}
    text = {"type": "TextBlock", "text": alert.text, "color": STYLES[alert.severity], "wrap": True}
    facts = {"type": "FactSet", "facts": [{"title": title, "value": value} for title, value in alert.facts]}
    links = [{"type": "Action.OpenUrl", "title": title, "url": url} for title, url in alert.links]
    content = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": CARD_VERSION,
        "body": [title, text, facts],
        "msteams": {"width": "Full"},
    } | ({"actions": links} if links else {})
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": content}
    return {"type": "message", "attachments": [attachment]}

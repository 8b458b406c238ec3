"""Slack's attachments, which Discord and Rocket.Chat accept as well (Slack: "secondary message attachments")."""

from collections.abc import Callable, Mapping
from typing import Any

from gitops_bg.core.model.hooks import Alert, Severity
from gitops_bg.core.model.subject import Subject
from gitops_bg.notify.message import Destination, markdown_link, title_of

WORDS = {Severity.INFO: "good", Severity.WARN: "warning", Severity.ERROR: "danger"}
"""Slack's names of colors."""


def payload(
    subject: Subject,
    alert: Alert,
    to: Destination,
    colors: Mapping[Severity, str] = WORDS,
    write: Callable[[str], str] = str,
    link: Callable[[str, str], str] = markdown_link,
) -> dict[str, Any]:
    """The fields of Flagger's Slack message, ``fallback`` for notifications, and links as one more field.

    ``write`` escapes text, and ``link`` writes a title and an address.
    """
    fields = [{"title": title, "value": write(value), "short": False} for title, value in alert.facts]
    if alert.links:
        links = " · ".join(link(title, url) for title, url in alert.links)
        fields.append({"title": "Links", "value": links, "short": False})
    attachment = {
        "color": colors[alert.severity],
        "author_name": title_of(subject),
        "fallback": alert.text,
        "text": write(alert.text),
        "mrkdwn_in": ["text", "fields"] if alert.links else ["text"],
        "fields": fields,
        "ts": int(alert.at.timestamp()),
    }
    return {
        "channel": to.channel,
        "username": to.username,
        "icon_emoji": ":rocket:",
        "attachments": [attachment],
    }

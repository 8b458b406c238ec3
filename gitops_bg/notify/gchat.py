"""Google Chat: a card for an incoming webhook. ``cardsV2``: the ``cards`` that Flagger sends are deprecated.

https://developers.google.com/workspace/chat/quickstart/webhooks
"""

import html
from typing import Any

from gitops_bg.core.model.hooks import Alert
from gitops_bg.core.model.subject import Subject
from gitops_bg.notify.message import HEX, Destination, Message, title_of


def gchat(subject: Subject, alert: Alert, to: Destination) -> Message:
    """The message for Google Chat. The space is that of the webhook."""
    colored = f'<font color="{HEX[alert.severity]}"><b>{alert.severity.upper()}</b></font> {html.escape(alert.text)}'
    facts = [_fact(title, value) for title, value in alert.facts]
    buttons = [{"text": title, "onClick": {"openLink": {"url": url}}} for title, url in alert.links]
    links = [{"buttonList": {"buttons": buttons}}] if buttons else []
    card = {
        "header": {"title": "gitops-bg", "subtitle": title_of(subject)},
        "sections": [{"widgets": [{"textParagraph": {"text": colored}}, *facts, *links]}],
    }
    return Message(to.address, {"cardsV2": [{"cardId": title_of(subject), "card": card}]})


def _fact(title: str, value: str) -> dict[str, Any]:
    return {"decoratedText": {"topLabel": title, "text": html.escape(value), "wrapText": True}}

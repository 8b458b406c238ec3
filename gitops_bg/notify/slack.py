"""Slack: an incoming webhook, or, with a token, ``chat.postMessage`` of the Web API.

https://api.slack.com/messaging/webhooks, https://api.slack.com/methods/chat.postMessage
"""

from gitops_bg.core.model.hooks import Alert
from gitops_bg.core.model.subject import Subject
from gitops_bg.core.text.foreign_json import read_json
from gitops_bg.notify.attachments import payload
from gitops_bg.notify.message import Destination, Message

POST_MESSAGE = "https://slack.com/api/chat.postMessage"

BAD_REQUEST, TOO_MANY_REQUESTS = 400, 429


def slack(subject: Subject, alert: Alert, to: Destination) -> Message:
    """The message for Slack; with a token, and no address, for its Web API."""
    body = payload(subject, alert, to, write=escaped, link=_link)
    if not to.token:
        return Message(to.address, body)
    headers = {"Authorization": f"Bearer {to.token}"}
    return Message(to.address or POST_MESSAGE, body, headers, status_of)


def escaped(text: str) -> str:
    """Escape the three characters that are special to Slack.

    >>> escaped("1 < 2 & 3")
    '1 &lt; 2 &amp; 3'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _link(title: str, url: str) -> str:
    return f"<{escaped(url)}|{escaped(title)}>"


def status_of(status: int, body: str) -> int:
    """Translate the Web API's status: it is always 200, and the body reports success.

    >>> status_of(200, '{"ok": true}'), status_of(200, '{"ok": false, "error": "channel_not_found"}')
    (200, 400)
    """
    try:
        answer = read_json(body)
    except ValueError:
        return status
    if not isinstance(answer, dict) or answer.get("ok") is not False:
        return status
    return TOO_MANY_REQUESTS if answer.get("error") in ("ratelimited", "rate_limited") else BAD_REQUEST

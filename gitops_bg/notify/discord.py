"""Discord: its webhooks accept Slack's format at an address that ends in ``/slack``.

https://discord.com/developers/docs/resources/webhook#execute-slackcompatible-webhook
"""

from urllib.parse import urlsplit, urlunsplit

from gitops_bg.core.model.hooks import Alert
from gitops_bg.core.model.subject import Subject
from gitops_bg.notify.attachments import payload
from gitops_bg.notify.message import Destination, Message


def discord(subject: Subject, alert: Alert, to: Destination) -> Message:
    """The message for Discord."""
    return Message(as_slack(to.address), payload(subject, alert, to))


def as_slack(address: str) -> str:
    """The address at which a webhook accepts Slack's format.

    >>> as_slack("https://discord.com/api/webhooks/1/a?wait=true"), as_slack("https://discord.com/api/webhooks/1/a/slack")
    ('https://discord.com/api/webhooks/1/a/slack?wait=true', 'https://discord.com/api/webhooks/1/a/slack')
    """
    parts = urlsplit(address)
    path = parts.path.rstrip("/")
    return address if path.endswith("/slack") else urlunsplit(parts._replace(path=f"{path}/slack"))

"""Rocket.Chat: an incoming webhook accepts Slack's attachments, with hexadecimal colors as in Flagger.

https://docs.rocket.chat/docs/integrations
"""

from gitops_bg.core.model.hooks import Alert
from gitops_bg.core.model.subject import Subject
from gitops_bg.notify.attachments import payload
from gitops_bg.notify.message import HEX, Destination, Message


def rocket(subject: Subject, alert: Alert, to: Destination) -> Message:
    """The message for Rocket.Chat."""
    return Message(to.address, payload(subject, alert, to, HEX))

"""Turns a due alert into what apprise sends: reads the provider's Secret, adds facts and links."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.hooks import Alert, HookCall
from gitops_bg.core.model.version import Subject
from gitops_bg.hooks import Compose, HookRequest
from gitops_bg.notify import Destination, linkable, sender
from gitops_bg.outbound.addresses import EVERYWHERE, AddressRules
from gitops_bg.outbound.http import Trust
from gitops_bg.outbound.secrets import Secrets

TIMEOUT = 10.0
"""Seconds for one attempt."""
UNUSABLE = 400
"""The status of an address that is none of its service: a refusal."""


COMMIT = "Commit"
"""The title of the fact that is a commit of the repository."""
SHORT = 10
SHORTEST_SECRET = 8
"""Characters of a part of a URL that is hidden: shorter ones are words."""


def alert_composer(
    cluster: str, commit_url: Callable[[str], str] = lambda _: "", addresses: AddressRules = EVERYWHERE
) -> Compose:
    """Return the function that composes requests of alerts, which name ``cluster`` as their origin.

    ``commit_url`` gives the address of a commit's page, or nothing where that is not known; ``addresses`` are where
    a library may send to, which connects by itself.
    """

    def compose(subject: Subject, call: HookCall, secrets: Secrets) -> HookRequest:
        provider, alert = reread_json(call.hook.request), call.alert
        if alert is None:
            raise ValueError(f"{call.hook.title} has nothing to say")
        more = (("Target", provider.get("target", "")), ("Cluster", cluster))
        facts = (*alert.facts, *((title, value) for title, value in more if value))
        whole = replace(alert, facts=facts, links=_links(alert, commit_url))
        to = _destination(provider, secrets)
        try:
            send = sender(to, subject, whole, addresses)
        except ValueError as error:
            said = str(error)
            send = lambda: (UNUSABLE, said)  # noqa: E731 - told at once, as a service would: no later try helps
        return HookRequest("", b"", (), TIMEOUT, Trust(), send=send)

    return compose


def _secret_parts(url: str) -> Iterator[str]:
    """The parts of an address that may be credentials: all but the scheme, and words too short to hide."""
    parts = urlsplit(url)
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    for text in (user, password, *parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))):
        if len(text) >= SHORTEST_SECRET:
            yield text
            yield unquote(text)


def _links(alert: Alert, commit_url: Callable[[str], str]) -> tuple[tuple[str, str], ...]:
    """The pages that a chat may lead to: that of the commit, and those of the alert."""
    commit = dict(alert.facts).get(COMMIT, "")
    every = ((f"Commit {commit[:SHORT]}", commit_url(commit) if commit else ""), *alert.links)
    return tuple((title, address) for title, url in every if (address := linkable(url)))


def _destination(provider: Mapping[str, Any], secrets: Secrets) -> Destination:
    """The destination with the address of the Secret, else that of the file.

    Raises ``NoSuchKey`` where neither has one.
    """
    name, address, token = provider.get("secret"), provider.get("address", ""), ""
    if name:
        token = (secrets.setting(name, "token") or "") if provider["type"] == "slack" else ""
        written = secrets.setting(name, "address")
        address = written or address or ("" if token else secrets.value(name, "address"))
    for secret in filter(None, (address, urlsplit(address).path.lstrip("/"), token, *_secret_parts(address))):
        secrets.hide(secret)
    return Destination(provider["type"], address, provider["channel"], provider["username"], token)

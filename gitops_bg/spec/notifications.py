"""Whom an app calls and tells: the hooks of app.yaml, Flagger's ``webhooks``, with Flagger's fields and their limits
beside them; and the alerts that app.yaml and gitops-bg.yaml ask for, with the AlertProviders of ``alerts/`` that they
go to.

Only the schemas (flagger.md §3.4, https://docs.flagger.app/usage/alerting) and their conversion to the core; nothing is
called here. A hook without an address is a manual gate. Secrets stay references, ``{{secret:NAME/KEY}}``, until a call
or an alert is sent.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import seconds_of
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.hooks import Hook, HookType, Severity
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.written import Conflict, Count, DnsLabel, Positive, Text
from gitops_bg.spec.analysis.providers import LONGEST_TIMEOUT, WebAddress
from gitops_bg.spec.app.fields import Model, Period, SecretKeyRef, SecretName, Title, Word, whole_seconds
from gitops_bg.spec.app.layout import ALERTS_FOLDER, SETTINGS_FILE
from gitops_bg.spec.app.shared_documents import Item, SharedDocuments, SharedMetadata, load_shared_documents
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path

TIMEOUT = "10s"
INTERVAL = 30
HOOK_PATIENCE = 600
"""How many seconds a backend may be down before the agent gives up on a hook other than confirm-* and rollback."""

_COUNTS = ("pre-rollout", "rollout")
_CONFIRMS = ("confirm-rollout", "confirm-promotion")
_SECRET = re.compile(r"\{\{secret:[^/}]+/[^}]+\}\}")


class HeaderSource(Model):
    """The source of a header's value."""

    secret_key_ref: SecretKeyRef = Field(description="A Secret; never shown, logged or remembered.")


class HookHeader(Model):
    """One more HTTP header."""

    name: Word = Field(description="Such as Authorization.")
    value: str | None = Field(None, description="Its value; {{secret:NAME/KEY}} in it is filled in from a Secret.")
    value_from: HeaderSource | None = Field(None, description="Where its value comes from.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.value is None) == (self.value_from is None):
            raise Conflict("", "must have exactly one of value and valueFrom", "write value: ...")
        return self

    @property
    def text(self) -> str:
        """The value, with a Secret as a reference."""
        if self.value_from is None:
            return self.value or ""
        ref = self.value_from.secret_key_ref
        return f"{{{{secret:{ref.name}/{ref.key}}}}}"


class Webhook(Model):
    """One hook: Flagger's fields, and after them its limits."""

    name: Title = Field(description="What it is called; no two hooks of an app may share a name.")
    type: Literal[
        "confirm-rollout", "pre-rollout", "rollout", "confirm-promotion", "rollback", "post-rollout", "event"
    ] = Field("rollout", description="When it is called, see docs/features/hooks.md.")
    url: WebAddress | None = Field(
        None, description="Where to POST. A confirm-rollout or confirm-promotion hook without one is a manual gate."
    )
    timeout: Period = Field(TIMEOUT, description="How long one call may take, up to 5m. Default 10s.")
    retries: Count = Field(0, description="How often a 5xx is asked again, after 1 to 30 s, before it counts.")
    mute_alert: bool = Field(False, description="No event and no ledger entry when it refuses.")
    disable_tls: bool = Field(
        False, alias="disableTLS", description="Do not verify the server's certificate. For tests."
    )
    metadata: dict[str, str] | None = Field(None, description="Sent along as it is; {{secret:NAME/KEY}} is filled in.")
    headers: list[HookHeader] | None = Field(None, description="More HTTP headers.")
    ca_cert: Text | None = Field(
        None, description="The PEM certificates of the authorities that the server's certificate may be signed by."
    )
    interval: Period | None = Field(
        None, description="The time between two calls of a hook that is polled. Default 30s."
    )
    iterations: Positive | None = Field(None, description="rollout: how many good answers it takes. Default 1.")
    failure_limit: Count | None = Field(
        None, description="pre-rollout and rollout: how many refusals do no harm. Default 0; Flagger's threshold - 1."
    )
    deadline: Period | None = Field(
        None,
        description="confirm-*: how long it may stay shut, for ever where absent. Others: how long its backend may "
        "be down, default 10m. Then it is not called any more, and nothing is promoted until `gitops-bg retry`.",
    )

    @model_validator(mode="after")
    def _fits_its_type(self) -> Self:
        if self.url is None and self.type not in _CONFIRMS:
            by_hand = "; by hand, it is `gitops-bg abort`" if self.type == "rollback" else ""
            raise Conflict("url", f"is required for the type {self.type}", f"add it{by_hand}")
        self._reject(self.type != "rollout", "iterations", "rollout")
        self._reject(self.type not in _COUNTS, "failureLimit", "pre-rollout and rollout")
        self._reject(self.type == "rollback", "deadline", "every type but rollback")
        return self

    def _reject(self, unfit: bool, field: str, types: str) -> None:
        value = {"iterations": self.iterations, "failureLimit": self.failure_limit, "deadline": self.deadline}[field]
        if unfit and value is not None:
            raise Conflict(field, f"means nothing for the type {self.type}", f"remove it: it is for {types}")

    @model_validator(mode="after")
    def _times(self) -> Self:
        if not 0 < seconds_of(str(self.timeout)) <= LONGEST_TIMEOUT:
            raise Conflict("timeout", f"{self.timeout} is not between 1s and 5m", "write 10s")
        if self.interval is not None and whole_seconds(self.interval) < 1:
            raise Conflict("interval", "is 0, so it would be called without a pause", "write 30s")
        if self.deadline is not None and whole_seconds(self.deadline) < 1:
            raise Conflict("deadline", "is 0, so it would never be called", "write 10m, or remove it")
        return self

    @model_validator(mode="after")
    def _references(self) -> Self:
        if "{{" in _SECRET.sub("", self.url or ""):
            raise Conflict("url", "holds {{…}} that is no secret", "write {{secret:NAME/KEY}}")
        return self


def check_names(place: str, webhooks: Sequence[Webhook], beside: Sequence[Webhook] = ()) -> None:
    """Raise ``Conflict`` where two hooks share a name: their answers could not be told apart."""
    seen = {webhook.name for webhook in beside}
    for number, webhook in enumerate(webhooks):
        if webhook.name in seen:
            message = f"there are two hooks called {webhook.name}"
            raise Conflict(f"{place}.{number}.name", message, "rename one of them")
        seen.add(webhook.name)


def to_hook(webhook: Webhook, interval: int = INTERVAL, iterations: int = 1, failure_limit: int = 0) -> Hook:
    """Return the hook as the core sees it; the limits apply to a hook without its own."""
    kind = HookType(webhook.type)
    return Hook(
        name=webhook.name,
        type=kind,
        request=json.dumps(_hook_request(webhook), sort_keys=True, separators=(",", ":")),
        manual=webhook.url is None,
        interval=interval if webhook.interval is None else whole_seconds(webhook.interval),
        retries=webhook.retries,
        iterations=(webhook.iterations or iterations) if kind is HookType.ROLLOUT else 1,
        failure_limit=_limit(webhook, failure_limit) if kind.counts_refusals else 0,
        deadline=_deadline(webhook, kind),
        mute_alert=webhook.mute_alert,
    )


def _limit(webhook: Webhook, default: int) -> int:
    return default if webhook.failure_limit is None else webhook.failure_limit


def _deadline(webhook: Webhook, kind: HookType) -> int | None:
    if webhook.deadline is not None:
        return whole_seconds(webhook.deadline)
    return None if kind.confirms or kind is HookType.ROLLBACK else HOOK_PATIENCE


def _hook_request(webhook: Webhook) -> dict[str, Any]:
    """Return the request for `gitops_bg.hooks.request`; missing fields are left out."""
    whole = {
        "url": webhook.url,
        "timeout": seconds_of(str(webhook.timeout)),
        "metadata": webhook.metadata,
        "headers": {header.name: header.text for header in webhook.headers or ()},
        "disableTLS": webhook.disable_tls,
        "caCert": webhook.ca_cert,
    }
    return {key: value for key, value in whole.items() if value}


# --- one alert: Flagger's ``analysis.alerts`` ---


class ProviderRef(Model):
    """The provider that sends it."""

    name: Text = Field(description="The name of an AlertProvider in alerts/.")
    namespace: DnsLabel | None = Field(None, description="The namespace of the provider, where that is not the app's.")


class AlertEntry(Model):
    """An alert about the app."""

    name: Title = Field(description="What it is called; no two alerts of an app may share a name.")
    severity: Literal["info", "warn", "error"] = Field(
        "info",
        description="What is told: info everything, warn what waits for somebody and what fails, error what fails. "
        "Default info.",
    )
    provider_ref: ProviderRef


def check_alert_names(alerts: Sequence[AlertEntry]) -> None:
    """Raise ``Conflict`` where two alerts share a name: their deliveries could not be told apart."""
    seen: set[str] = set()
    for number, alert in enumerate(alerts):
        if alert.name in seen:
            message = f"there are two alerts called {alert.name}"
            raise Conflict(f"alerts.{number}.name", message, "rename one of them")
        seen.add(alert.name)


# --- providers, and what goes to them ---

ALERT_PATIENCE = 3600
"""How many seconds a provider may be down; its messages are dropped then, and the ledger says so."""

PLACE = ("spec", "analysis", "alerts")
"""The place of an app's alerts in app.yaml."""


def _no_placeholder(text: str) -> str:
    if "{{" in text:
        raise Conflict("", "holds {{…}}, which nothing fills in here", "put it into a Secret, and name that")
    return text


Address = Annotated[Text, AfterValidator(_no_placeholder)]


class AddressSecret(Model):
    """A Secret in the namespace of the provider, else in that of the app; read only when an alert is sent."""

    name: SecretName = Field(
        description="The Secret; its key address is where to send, its key token the token of Slack's bots."
    )


class ProviderSpec(Model):
    """The destination of alerts."""

    type: Literal["slack", "msteams", "discord", "rocket", "gchat", "apprise"] = Field(
        description="Which chat it is; apprise for any other service, by a URL."
    )
    channel: Text = Field("general", description="The channel. Default general; for Slack and Rocket.Chat.")
    username: Text = Field("gitops-bg", description="Who says it. Default gitops-bg; for Slack.")
    address: Address | None = Field(
        None, description="The address of the webhook, or the URL of apprise, where it is not in secretRef."
    )
    secret_ref: AddressSecret | None = Field(
        None, description="The Secret that holds the address, which then counts, and for Slack's bots the token."
    )

    @model_validator(mode="before")
    @classmethod
    def _has_no_proxy(cls, value: Any) -> Any:
        if isinstance(value, dict) and "proxy" in value:
            raise Conflict("proxy", "is not for one provider", "set HTTPS_PROXY for the agent, and remove it")
        return value

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if self.address is None and self.secret_ref is None:
            raise Conflict("", "has neither address nor secretRef", "add secretRef: {name: ...}, with the key address")
        if self.address is not None and "://" not in self.address:
            raise Conflict("address", "is no URL", "write one such as https://chat.example.com/hooks/1")
        return self


class AlertProvider(Model):
    """A document of a file of ``alerts/``. One of Flagger is accepted as it is, but for a `proxy`."""

    api_version: Literal["gitops-bg.dev/v1alpha1", "flagger.app/v1beta1"]
    kind: Literal["AlertProvider"]
    metadata: SharedMetadata
    spec: ProviderSpec


Provider = Item[ProviderSpec]
Providers = SharedDocuments[ProviderSpec]


def load_providers(files: Mapping[str, bytes | Problem]) -> Providers:
    """Return the providers in the files of ``alerts/``, by path. A Problem stands for a file that Git found
    unusable.
    """
    return load_shared_documents(files, ALERTS_FOLDER, {"AlertProvider": AlertProvider})


@dataclass(frozen=True, slots=True)
class Alerting:
    """The shared alerts. ``defaults`` are for apps without alerts of their own, written in ``document``."""

    providers: Providers = field(default_factory=Providers)
    defaults: tuple[AlertEntry, ...] = ()
    document: Document = Document(SETTINGS_FILE, None)


@dataclass(frozen=True, slots=True)
class Alerts:
    """The alerts of one app as hooks; and the names of the providers they depend on, including missing ones."""

    hooks: tuple[Hook, ...] = ()
    providers: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()


def alerts_of(
    app: AppKey, own: Sequence[AlertEntry] | None, document: Document, alerting: Alerting, target: str = ""
) -> Alerts:
    """Return the alerts of an app: its ``own``, written in ``document``, else those of the repository."""
    named, written, path = (own, document, PLACE) if own else (alerting.defaults, alerting.document, ("alerts",))
    hooks: list[Hook] = []
    problems: list[Problem] = []
    for number, alert in enumerate(named):
        provider = alerting.providers.items.get(alert.provider_ref.name)
        wrong = tuple(_wrong(app, alert, provider, alerting, written, (*path, number, "providerRef", "name")))
        problems.extend(wrong)
        hooks.append(_hook(alert, None if wrong else provider, str(wrong[0]) if wrong else "", target))
    names = frozenset(alert.provider_ref.name for alert in named)
    return Alerts(tuple(hooks), names, tuple(problems))


def check_defaults(alerting: Alerting) -> tuple[Problem, ...]:
    """Return the problems of the repository's alerts, whether an app uses them or not."""
    missing = [
        (number, alert)
        for number, alert in enumerate(alerting.defaults)
        if alert.provider_ref.name not in alerting.providers.items
    ]
    return tuple(
        _missing(alert, alerting, alerting.document, ("alerts", number, "providerRef", "name"))
        for number, alert in missing
    )


def _wrong(
    app: AppKey, alert: AlertEntry, provider: Provider | None, alerting: Alerting, document: Document, path: Path
) -> Iterator[Problem]:
    ref = alert.provider_ref
    if provider is None:
        yield _missing(alert, alerting, document, path)
        yield from alerting.providers.problems
    elif provider.problems:
        yield from provider.problems
    elif provider.namespace not in (None, ref.namespace or app.namespace):
        message = f"AlertProvider {ref.name} is of the namespace {provider.namespace}"
        yield document.problem(path, message, f"add namespace: {provider.namespace} beside its name")


def _missing(alert: AlertEntry, alerting: Alerting, document: Document, path: Path) -> Problem:
    known = ", ".join(sorted(alerting.providers.items)) or "none"
    message = f"there is no AlertProvider {alert.provider_ref.name} in {ALERTS_FOLDER}/"
    return document.problem(path, message, f"add it; known: {known}")


def _hook(alert: AlertEntry, provider: Provider | None, unknown: str, target: str) -> Hook:
    spec = provider.spec if provider else None
    return Hook(
        name=alert.name,
        type=HookType.ALERT,
        request=json.dumps(_alert_request(spec, target), sort_keys=True, separators=(",", ":")) if spec else "{}",
        retries=ALERT_PATIENCE,
        deadline=ALERT_PATIENCE,
        severity=Severity(alert.severity),
        namespace=(provider.namespace if provider else None) or alert.provider_ref.namespace or "",
        unknown=unknown,
    )


def _alert_request(spec: ProviderSpec, target: str) -> dict[str, Any]:
    """Return the request for `gitops_bg.agent.reconcile.background`; missing fields are left out."""
    whole = {
        "type": spec.type,
        "channel": spec.channel,
        "username": spec.username,
        "address": spec.address,
        "secret": spec.secret_ref.name if spec.secret_ref else None,
        "target": target,
    }
    return {key: value for key, value in whole.items() if value}

"""Alerts: those that app.yaml and gitops-bg.yaml ask for, and the AlertProviders of ``alerts/`` that they go to;
Flagger's fields and defaults.

Only the schemas (https://docs.flagger.app/usage/alerting) and their conversion to the core. Secrets stay references
until an alert is sent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.hooks import Hook, HookType, Severity
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.fields import DnsLabel, Model, SecretName, Text, Title
from gitops_bg.spec.app.layout import ALERTS_FOLDER, SETTINGS_FILE
from gitops_bg.spec.app.shared_documents import Item, SharedDocuments, SharedMetadata, load_shared_documents
from gitops_bg.spec.app.validation import Conflict
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document

# --- one alert: Flagger's ``analysis.alerts`` ---


class ProviderRef(Model):
    """The provider that sends it."""

    name: Text = Field(description="The name of an AlertProvider in alerts/.")
    namespace: DnsLabel | None = Field(None, description="The namespace of the provider, where that is not the app's.")


class Alert(Model):
    """An alert about the app."""

    name: Title = Field(description="What it is called; no two alerts of an app may share a name.")
    severity: Literal["info", "warn", "error"] = Field(
        "info",
        description="What is told: info everything, warn what waits for somebody and what fails, error what fails. "
        "Default info.",
    )
    provider_ref: ProviderRef


def check_alert_names(alerts: Sequence[Alert]) -> None:
    """Raise ``Conflict`` where two alerts share a name: their deliveries could not be told apart."""
    seen: set[str] = set()
    for number, alert in enumerate(alerts):
        if alert.name in seen:
            message = f"there are two alerts called {alert.name}"
            raise Conflict(f"alerts.{number}.name", message, "rename one of them")
        seen.add(alert.name)


# --- providers, and what goes to them ---

PATIENCE = 3600
"""How many seconds a provider may be down; its messages are dropped then, and the ledger says so."""

PLACE = ("spec", "analysis", "alerts")
"""The place of an app's alerts in app.yaml."""


def _no_placeholder(text: str) -> str:
    if "{{" in text:
        raise Conflict("", "holds {{…}}, which nothing fills in here", "put it into a Secret, and name that")
    return text


Address = Annotated[Text, AfterValidator(_no_placeholder)]


class SecretRef(Model):
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
    secret_ref: SecretRef | None = Field(
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
    """The providers in the files of ``alerts/``, by path. A Problem stands for a file that Git found unusable."""
    return load_shared_documents(files, ALERTS_FOLDER, {"AlertProvider": AlertProvider})


@dataclass(frozen=True, slots=True)
class Alerting:
    """The shared alerts. ``defaults`` are for apps without alerts of their own, written in ``document``."""

    providers: Providers = field(default_factory=Providers)
    defaults: tuple[Alert, ...] = ()
    document: Document = Document(SETTINGS_FILE, None)  # noqa: RUF009 - it is frozen


@dataclass(frozen=True, slots=True)
class Alerts:
    """The alerts of one app as hooks; and the names of the providers they depend on, including missing ones."""

    hooks: tuple[Hook, ...] = ()
    providers: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()


def alerts_of(
    app: AppKey, own: Sequence[Alert] | None, document: Document, alerting: Alerting, target: str = ""
) -> Alerts:
    """The alerts of an app: its ``own``, written in ``document``, else those of the repository."""
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
    """The problems of the repository's alerts, whether an app uses them or not."""
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
    app: AppKey, alert: Alert, provider: Provider | None, alerting: Alerting, document: Document, path: Path
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


def _missing(alert: Alert, alerting: Alerting, document: Document, path: Path) -> Problem:
    known = ", ".join(sorted(alerting.providers.items)) or "none"
    message = f"there is no AlertProvider {alert.provider_ref.name} in {ALERTS_FOLDER}/"
    return document.problem(path, message, f"add it; known: {known}")


def _hook(alert: Alert, provider: Provider | None, unknown: str, target: str) -> Hook:
    spec = provider.spec if provider else None
    return Hook(
        name=alert.name,
        type=HookType.ALERT,
        request=json.dumps(_request(spec, target), sort_keys=True, separators=(",", ":")) if spec else "{}",
        retries=PATIENCE,
        deadline=PATIENCE,
        severity=Severity(alert.severity),
        namespace=(provider.namespace if provider else None) or alert.provider_ref.namespace or "",
        unknown=unknown,
    )


def _request(spec: ProviderSpec, target: str) -> dict[str, Any]:
    """The request for `gitops_bg.agent.reconcile.background`; missing fields are left out."""
    whole = {
        "type": spec.type,
        "channel": spec.channel,
        "username": spec.username,
        "address": spec.address,
        "secret": spec.secret_ref.name if spec.secret_ref else None,
        "target": target,
    }
    return {key: value for key, value in whole.items() if value}

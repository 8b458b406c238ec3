"""One alert in app.yaml or gitops-bg.yaml: Flagger's ``analysis.alerts``. Knows no provider."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from gitops_bg.spec.app.fields import DnsLabel, Model, Text, Title
from gitops_bg.spec.app.validation import Conflict


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

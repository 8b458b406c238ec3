"""The interface of a metric provider: asked for one value, it returns it, says that there is none, or fails.

Third parties need only this file: an entry point of the group ``gitops_bg.metric_providers`` that returns a `Provider`
when called without arguments. A provider judges nothing (`conditions` does).
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.outbound import http
from gitops_bg.outbound.http import HttpAnswer, HttpRequest, MeasuringFailed
from gitops_bg.outbound.secrets import Secrets

__all__ = ["ENTRY_POINTS", "Context", "MeasuringFailed", "NoData", "Provider", "Reading", "Value"]

ENTRY_POINTS = "gitops_bg.metric_providers"


@dataclass(frozen=True, slots=True)
class Value:
    """A measured value: JSON, which conditions know as ``result``."""

    result: Any


@dataclass(frozen=True, slots=True)
class NoData:
    """The backend has no data: never good, never bad."""

    why: str


Reading = Value | NoData


@dataclass(frozen=True, slots=True)
class Context:
    """What a provider may use besides its block: whom it measures, the time in UTC, Secrets, and the way out."""

    app: AppOrGroup
    """The app, or the release group."""
    now: datetime
    secrets: Secrets
    ask: Callable[[HttpRequest], HttpAnswer] = http.ask
    """Sends a request to where the agent's rules for addresses permit. Raises ``MeasuringFailed``."""


class Provider(Protocol):
    """Measures. Called from several threads at once; every call must end within its own time limit."""

    def measure(self, block: Mapping[str, Any], context: Context) -> Reading:
        """Return the value that the provider's block of the template asks for; its secrets are filled in.

        Raises ``MeasuringFailed`` where the value is unavailable.
        """
        ...

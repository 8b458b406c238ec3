"""What a metric provider is: asked for one value, it answers with it, says that there is none, or fails.

Third parties build providers on this file alone: an entry point of the group ``gitops_bg.metric_providers`` that gives
a `Provider` when it is called without arguments. It judges nothing (`conditions` does).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from gitops_bg.core.model.version import AppKey
from gitops_bg.outbound.errors import MeasuringFailed
from gitops_bg.outbound.secrets import Secrets

__all__ = ["ENTRY_POINTS", "Context", "MeasuringFailed", "NoData", "Provider", "Reading", "Value"]

ENTRY_POINTS = "gitops_bg.metric_providers"


@dataclass(frozen=True, slots=True)
class Value:
    """What was measured: JSON, which conditions know as ``result``."""

    result: Any


@dataclass(frozen=True, slots=True)
class NoData:
    """The backend answered that there is nothing to tell: never good, never bad."""

    why: str


Reading = Value | NoData


@dataclass(frozen=True, slots=True)
class Context:
    """What a provider may know besides its block: whose measurement it is, the time in UTC, and the app's Secrets."""

    app: AppKey
    now: datetime
    secrets: Secrets


class Provider(Protocol):
    """Measures. Called from several threads at once; every call ends in a time that it bounds itself."""

    def measure(self, block: Mapping[str, Any], context: Context) -> Reading:
        """The value that the provider's block of the template asks for, its secrets filled in.

        Raises ``MeasuringFailed`` where it cannot be had.
        """
        ...

"""The known providers: ours, and those of other packages as entry points. Measures nothing."""

import threading
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from gitops_bg.analysis.provider import ENTRY_POINTS, Provider
from gitops_bg.analysis.providers.cloudwatch import CloudWatchProvider
from gitops_bg.analysis.providers.datadog import DatadogProvider
from gitops_bg.analysis.providers.graphite import GraphiteProvider
from gitops_bg.analysis.providers.influxdb import InfluxdbProvider
from gitops_bg.analysis.providers.newrelic import NewRelicProvider
from gitops_bg.analysis.providers.prometheus import PrometheusProvider
from gitops_bg.analysis.providers.web import WebProvider
from gitops_bg.outbound.http import MeasuringFailed

OURS: Mapping[str, Callable[[], Provider]] = {
    "prometheus": PrometheusProvider,
    "web": WebProvider,
    "datadog": DatadogProvider,
    "cloudWatch": CloudWatchProvider,
    "newRelic": NewRelicProvider,
    "graphite": GraphiteProvider,
    "influxdb": InfluxdbProvider,
}
"""The providers that measure over HTTP; Jobs are handled elsewhere (`gitops_bg.cluster.execution.jobs`)."""


class Registry:
    """Finds providers by name, and creates each once. ``more`` take precedence. Thread-safe."""

    def __init__(self, more: Mapping[str, Provider] | None = None) -> None:
        self._made: dict[str, Provider] = dict(more or {})
        self._lock = threading.Lock()

    def provider(self, name: str) -> Provider:
        """Return the provider of this name. Raises ``MeasuringFailed`` where there is none, or it cannot be loaded."""
        with self._lock:
            if name not in self._made:
                self._made[name] = OURS[name]() if name in OURS else _installed(name)
            return self._made[name]


def _installed(name: str) -> Provider:
    """Return the entry point of another package; an error in its code is its author's, not a bug of ours."""
    found = list(entry_points(group=ENTRY_POINTS, name=name))
    if not found:
        known = ", ".join(sorted({*OURS, *entry_points(group=ENTRY_POINTS).names}))
        raise MeasuringFailed(f"the agent has no provider {name}; it has {known}")
    if len(found) > 1:
        raise MeasuringFailed(f"several packages bring a provider {name}: {', '.join(each.value for each in found)}")
    try:
        provider: Provider = found[0].load()()
    except Exception as error:
        raise MeasuringFailed(f"the provider {name} ({found[0].value}) cannot be loaded: {error}") from error
    if not callable(getattr(provider, "measure", None)):
        raise MeasuringFailed(f"the provider {name} ({found[0].value}) has no measure()")
    return provider

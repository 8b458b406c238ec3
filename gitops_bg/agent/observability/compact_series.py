"""Series of thousands of apps and groups in little memory: numbers in tuples and arrays, turned into samples on each
scrape.

The library's own histograms take a kilobyte for each bucket and label set. Nothing here decides or reads a clock.
"""

import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from gitops_bg.core.model.version import AppOrGroup

SUBJECT = ("kind", "namespace", "name")
"""The labels of every series about an app or a release group."""


def labels_of(who: AppOrGroup) -> tuple[str, str, str]:
    """The values of these labels."""
    return who.kind.value, who.namespace, who.name


class SubjectGauges(Collector):
    """Several gauges that are set together for each app or group; ``families`` are their names and help texts."""

    def __init__(self, families: Sequence[tuple[str, str]], registry: CollectorRegistry) -> None:
        self._families = families
        self._values: dict[AppOrGroup, tuple[int, ...]] = {}
        registry.register(self)

    def set(self, who: AppOrGroup, values: tuple[int, ...]) -> None:
        """Set one value for each family, in their order."""
        self._values[who] = values

    def forget(self, who: AppOrGroup) -> None:
        """Remove the series of what is deleted."""
        self._values.pop(who, None)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The samples of a scrape."""
        values = list(self._values.items())
        for place, (name, what) in enumerate(self._families):
            family = GaugeMetricFamily(name, what, labels=SUBJECT)
            for who, numbers in values:
                family.add_metric(labels_of(who), numbers[place])
            yield family


class SubjectHistogram(Collector):
    """A histogram of seconds by app or group and ``label``; who has no observations has no series."""

    def __init__(
        self, name: str, what: str, label: str, buckets: tuple[float, ...], registry: CollectorRegistry
    ) -> None:
        self._name, self._what, self._label, self._buckets = name, what, label, buckets
        self._counts: dict[AppOrGroup, dict[str, array[float]]] = {}
        self._lock = threading.Lock()
        registry.register(self)

    def observe(self, who: AppOrGroup, value: str, seconds: float) -> None:
        """Count one observation under a value of the label."""
        with self._lock:
            counts = self._counts.setdefault(who, {}).setdefault(value, self._empty())
            counts[bisect_left(self._buckets, seconds)] += 1
            counts[-1] += seconds

    def forget(self, who: AppOrGroup) -> None:
        """Remove the series of what is deleted."""
        with self._lock:
            self._counts.pop(who, None)

    def collect(self) -> Iterable[HistogramMetricFamily]:
        """The samples of a scrape."""
        family = HistogramMetricFamily(self._name, self._what, labels=(*SUBJECT, self._label))
        with self._lock:
            found = [(who, value, counts[:]) for who, by in self._counts.items() for value, counts in by.items()]
        for who, value, counts in found:
            family.add_metric((*labels_of(who), value), list(self._cumulated(counts)), counts[-1])
        yield family

    def _empty(self) -> "array[float]":
        """A count for each bucket, one for longer times, and the sum of all seconds."""
        return array("d", [0.0] * (len(self._buckets) + 2))

    def _cumulated(self, counts: "array[float]") -> Iterator[tuple[str, float]]:
        total = 0.0
        for bound, count in zip((*map(str, self._buckets), "+Inf"), counts[:-1], strict=True):
            total += count
            yield bound, total

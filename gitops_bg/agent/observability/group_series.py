"""The series of release groups; those of a group that left main are removed."""

from collections.abc import Iterable
from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Gauge

from gitops_bg.core.groups.reporting.events import GroupEvent
from gitops_bg.core.model.decision import Phase
from gitops_bg.core.model.version import GroupKey

_GROUP = ("namespace", "group")


class GroupSeries:
    """Thread-safe; they are few: one phase for each group, and what happened to it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._info = Gauge(
            "gitops_bg_group_info",
            "Always 1; the phase of a release group, and its versions.",
            [*_GROUP, "phase", "active", "legacy"],
            registry=registry,
        )
        self._events = Counter(
            "gitops_bg_group_events", "What happened to a release group.", [*_GROUP, "event"], registry=registry
        )
        self._errors = Counter(
            "gitops_bg_group_errors",
            "Looks at a release group that ended with an error, by its reason.",
            [*_GROUP, "reason"],
            registry=registry,
        )
        self._lock = Lock()
        self._known: set[GroupKey] = set()

    def described(self, group: GroupKey, phase: Phase, active: str, legacy: str) -> None:
        """The state of a group now."""
        with self._lock:
            self._known.add(group)
            self._info.remove_by_labels(_names(group))
            self._info.labels(*_labels(group), phase, active, legacy).set(1)

    def happened(self, group: GroupKey, event: GroupEvent) -> None:
        """Something happened to a group."""
        self._events.labels(*_labels(group), event).inc()

    def failed(self, group: GroupKey, reason: str) -> None:
        """A look at a group failed; ``reason`` is that of a ``GitopsBgError``."""
        self._errors.labels(*_labels(group), reason).inc()

    def keep(self, groups: Iterable[GroupKey]) -> None:
        """Remove the series of all other groups."""
        with self._lock:
            for group in self._known - set(groups):
                for family in (self._info, self._events, self._errors):
                    family.remove_by_labels(_names(group))
                self._known.discard(group)


def _labels(group: GroupKey) -> tuple[str, str]:
    return group.namespace, group.name


def _names(group: GroupKey) -> dict[str, str]:
    return dict(zip(_GROUP, _labels(group), strict=True))

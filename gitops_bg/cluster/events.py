"""Kubernetes Events about an app or a release group, for `kubectl describe`. Best effort, and never blocking.

A thread of its own writes Events, a moment after what they tell of; when it cannot keep up, or the API server refuses,
they are dropped. A repeated event only increases the count, as in client-go's aggregator.
"""

import contextlib
import hashlib
import logging
import queue
import threading
from collections import OrderedDict
from datetime import datetime

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import APPS, EVENTS, RELEASE_GROUPS, Kind, Object
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, WorldChanged, guarded
from gitops_bg.core.model.version import AppOrGroup, GroupKey

_LOG = logging.getLogger(__name__)
_QUEUE = 1000
_REMEMBERED = 4096
_AFTER = 0.03
"""Seconds that an Event waits: what it tells of is still being written, and traffic goes first."""
_LONGEST_MESSAGE = 1024  # https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/


@dataclass(frozen=True, slots=True)
class KubernetesEvent:
    """One event; ``reason`` is one CamelCase word."""

    about: AppOrGroup
    uid: str
    reason: str
    message: str
    warning: bool
    at: datetime

    @property
    def kind(self) -> Kind:
        """The kind of the object that it is about."""
        return RELEASE_GROUPS if isinstance(self.about, GroupKey) else APPS


class EventSink:
    """Writes Events on a thread of its own. Use `start`, `put`, `stop`."""

    def __init__(self, client: Client, reporter: str = names.MANAGER) -> None:
        self._client = client
        self._reporter = reporter
        self._waiting: queue.Queue[KubernetesEvent | None] = queue.Queue(_QUEUE)
        self._counts: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        """Start the thread; returns at once."""
        self._thread.start()

    def stop(self, timeout: float = 2.0) -> None:
        """Write the waiting Events, for at most ``timeout`` seconds, and end; does nothing where it was
        never started.
        """
        if not self._thread.is_alive():
            return
        self._is_stopped.set()
        with contextlib.suppress(queue.Full):
            self._waiting.put(None, timeout=timeout)
        self._thread.join(timeout)

    def put(self, event: KubernetesEvent) -> None:
        """Queue an Event; returns at once."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(event)

    @property
    def idle(self) -> bool:
        """Whether every Event so far was written, or dropped."""
        return not self._waiting.unfinished_tasks

    def _run(self) -> None:
        """Write what waits, and begin a moment later where nothing waited before."""
        while (event := self._waiting.get()) is not None:
            self._is_stopped.wait(_AFTER)
            self._try(event)
            while not self._waiting.empty():
                event = self._waiting.get()
                if event is None:
                    return
                self._try(event)

    def _try(self, event: KubernetesEvent) -> None:
        try:
            with guarded(f"writing an Event about {event.about}"):
                self.write(event)
        except InternalError as error:
            _LOG.warning("%s", error, exc_info=error.__cause__)
        except GitopsBgError as error:
            _LOG.debug("an Event was not written: %s", error)
        finally:
            self._waiting.task_done()

    def write(self, event: KubernetesEvent) -> None:
        """Write one Event now, or increase the count of an equal one."""
        name = event_name(event)
        count, since = self._counts.get(name, (0, _time(event.at)))
        body = event_object(event, name, count + 1, since, self._reporter)
        if count:
            self._client.apply(EVENTS, body, force=True)
        else:
            self._begin(body)
        self._counts[name] = (count + 1, since)
        self._counts.move_to_end(name)
        if len(self._counts) > _REMEMBERED:
            self._counts.popitem(last=False)

    def _begin(self, body: Object) -> None:
        """Create the Event: nearly every one occurs once, and a create costs the API server less than an apply."""
        try:
            self._client.create(EVENTS, body)
        except WorldChanged:
            self._client.apply(EVENTS, body, force=True)


def event_object(event: KubernetesEvent, name: str, count: int, since: str, reporter: str) -> Object:
    """Return the manifest of an Event (core/v1, which `kubectl describe` reads on every server)."""
    about = event.about
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.name,
        "metadata": {"name": name, "namespace": about.namespace},
        "involvedObject": {
            "apiVersion": event.kind.api_version,
            "kind": event.kind.name,
            "namespace": about.namespace,
            "name": about.name,
            "uid": event.uid,
        },
        "type": "Warning" if event.warning else "Normal",
        "reason": event.reason,
        "message": event.message[:_LONGEST_MESSAGE],
        "count": count,
        "firstTimestamp": since,
        "lastTimestamp": _time(event.at),
        "source": {"component": reporter},
        "reportingComponent": reporter,
    }


def event_name(event: KubernetesEvent) -> str:
    """Return the name of an Event: the same for the same text about the same object."""
    what = "\0".join((event.uid, event.reason, event.message))
    return f"{event.about.name[:200]}.{hashlib.sha256(what.encode()).hexdigest()[:16]}"


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

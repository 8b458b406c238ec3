"""One run of a command that asks the cluster alone. What Git needs is in `session.py`, which imports far more.

Only what every such command needs is imported here; the rest when it is asked for (docs/reference/cli.md, "How fast").
"""

from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gitops_bg.cli.errors import NameNotFound, UsageError
from gitops_bg.cli.options.options import ClusterOptions, PlaceOptions
from gitops_bg.cli.options.values import app_name
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.cluster.api.kinds import NAMESPACES
from gitops_bg.core.model.version import AppKey

if TYPE_CHECKING:
    from gitops_bg.cluster.cluster import Cluster
    from gitops_bg.cluster.observation.ownership import Ownership
    from gitops_bg.views.app import AppView


def access(options: ClusterOptions) -> Access:
    """Return how a command reaches the cluster."""
    return Access(kubeconfig=options.kubeconfig, context=options.context, plain_first=True)


class LiveSession:
    """A context manager; every access reads the cluster as it is now."""

    def __init__(self, kube: ClusterOptions | None = None, place: PlaceOptions | None = None) -> None:
        self._kube = kube
        self._place = place or PlaceOptions()
        self._stack = ExitStack()
        self._lacking: dict[str, bool] = {}
        self.moment: datetime | None = None
        """When all is looked at, where two looks are to be compared; None: at the time of each."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def now(self) -> datetime:
        """The time, in UTC."""
        return self.moment or datetime.now(UTC)

    @cached_property
    def client(self) -> Client:
        """The API server."""
        assert self._kube is not None
        client = Client(access(self._kube))
        self._stack.callback(client.close)
        return client

    @property
    def follows(self) -> "Ownership":
        """Of which repository and cluster the apps are that are asked about; nobody's: of any."""
        from gitops_bg.cluster.observation.ownership import UNOWNED

        return UNOWNED

    @cached_property
    def cluster(self) -> "Cluster":
        """The cluster, as the agent that is meant sees it; every access reads it live."""
        from gitops_bg.cluster.cluster import Cluster

        namespaces = (self._place.namespace,) if self._place.namespace else ()
        cluster = Cluster.over(self.client, namespaces, self.follows)
        self._stack.callback(cluster.stop)
        return cluster

    def app(self, name: str) -> AppKey:
        """Return the app that a person means by NAME or NAMESPACE/NAME; looks first where the session is
        set to look.
        """
        namespace, name = app_name(name)
        if namespace or self._place.namespace:
            return AppKey(namespace or self._place.namespace, name)
        found = sorted(app for app in self._known() if app.name == name)
        if len(found) > 1:
            raise UsageError(f"{name} is ambiguous: {', '.join(map(str, found))}; name one of them in full")
        if not found:
            raise NameNotFound(f"there is no app {name}; `gitops-bg get` lists those that run")
        return found[0]

    def app_view(self, app: AppKey) -> "AppView":
        """Return all that is shown of a live app. Raises ``NameNotFound`` and the cluster's errors."""
        from gitops_bg.agent.live_views import read_app_view

        view = read_app_view(self.cluster, app)
        if view is None:
            raise NameNotFound(f"the cluster runs no app {app}")
        return view

    def lacks_namespace(self, name: str) -> bool:
        """Return whether the cluster has no such namespace; False where we may not ask."""
        if name not in self._lacking:
            try:
                self._lacking[name] = self.client.get(NAMESPACES, "", name) is None
            except Forbidden:
                self._lacking[name] = False
        return self._lacking[name]

    def _known(self) -> Iterable[AppKey]:
        return self.cluster.apps()

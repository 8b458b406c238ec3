"""The pods of a version, read when they are needed: nothing watches them, so idle apps cost nothing (DESIGN §8)."""

from gitops_bg.cluster.client import Client
from gitops_bg.cluster.kinds import PODS, Object
from gitops_bg.core import names
from gitops_bg.core.model import AppKey


class Pods:
    """Reads and changes live pods. Safe for many threads."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def of(self, app: AppKey, digest: str) -> list[Object]:
        """The pods of a version that are to stay, as they are now."""
        labels = ",".join(f"{key}={value}" for key, value in names.selector(app, digest).items())
        found = self._client.list(PODS, app.namespace, labels)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def change(self, pod: Object, change: Object) -> None:
        """Merge a change into one pod. Raises `WorldChanged` where it is gone."""
        metadata = pod["metadata"]
        self._client.merge_patch(PODS, metadata["namespace"], metadata["name"], change)

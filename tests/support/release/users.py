"""People who use an app all the while, through its live Service."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import urllib3

from tests.support.cluster.clusters import ControlPlaneCluster


class Users:
    """Those of one Service; pods answer at their own addresses, on port 8080."""

    def __init__(self, cluster: ControlPlaneCluster, namespace: str, service: str) -> None:
        self._cluster, self._namespace, self._service = cluster, namespace, service
        self.tags: list[str] = []
        self.failures: list[str] = []
        self._over = threading.Event()

    @contextmanager
    def asking(self) -> Iterator[Users]:
        """Ask from now on, until the block ends."""
        user = threading.Thread(target=self._use)
        user.start()
        try:
            yield self
        finally:
            self._over.set()
            user.join()

    def _use(self) -> None:
        with urllib3.PoolManager(retries=False) as pool:
            while not self._over.wait(0.02):
                addresses = self._cluster.ready_addresses(self._namespace, self._service)
                if not addresses:
                    self.failures.append("no pod is ready")
                for address in addresses:
                    self._ask(pool, address)

    def _ask(self, pool: urllib3.PoolManager, address: str) -> None:
        try:
            answer = pool.request("GET", f"http://{address}:8080/", timeout=5)
        except urllib3.exceptions.HTTPError as error:
            self.failures.append(f"{address}: {error}")
            return
        if answer.status != 200:
            self.failures.append(f"{address}: {answer.status}")
        self.tags.append(answer.json()["image"].rpartition(":")[2])

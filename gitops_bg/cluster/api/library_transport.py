"""Requests by the Kubernetes client library: every kind of kubeconfig, and the pod's own service account.

The only file that calls it, and nothing imports this file before a request needs it: it takes a quarter of a second of
CPU to import (decision 48).
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import urllib3
from kubernetes import client as kubernetes_client
from kubernetes import config as kubernetes_config

from gitops_bg.cluster.api.access import IN_CLUSTER, Access, context_name
from gitops_bg.cluster.api.errors import NoAccess, border
from gitops_bg.cluster.api.transport import Timeouts, keepalive_options


class LibraryTransport:
    """A `transport.Transport` with credentials as the library reads them."""

    def __init__(self, access: Access) -> None:
        self._access = access
        configuration = kubernetes_client.Configuration()
        self._load(configuration)
        configuration.retries = False
        configuration.socket_options = keepalive_options()
        configuration.connection_pool_maxsize = access.pool_size
        self._api = kubernetes_client.ApiClient(configuration)

    @property
    def host(self) -> str:
        """The address of the API server."""
        return str(self._api.configuration.host)

    def credentials(self) -> dict[str, str]:
        """Return the headers with the identity; the library walks its whole configuration for them."""
        return {each["key"]: each["value"] for each in self._api.configuration.auth_settings().values()}

    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeouts: Timeouts
    ) -> urllib3.HTTPResponse:
        """Send one request."""
        patience = urllib3.Timeout(connect=timeouts[0], read=timeouts[1])
        # Its pool, not its `request`, which would write the body anew, with escapes that YAML does not read.
        answer = self._api.rest_client.pool_manager.request(
            method, url, body=body, headers=dict(headers), timeout=patience, preload_content=False
        )
        assert isinstance(answer, urllib3.HTTPResponse)
        return answer

    def close(self) -> None:
        """Close every idle connection."""
        self._api.close()

    def _load(self, configuration: Any) -> None:
        access = self._access
        if access.kubeconfig is None and os.environ.get(IN_CLUSTER):
            with border("read the service account of this pod"):
                kubernetes_config.load_incluster_config(client_configuration=configuration)
            return
        given = access.kubeconfig_files
        if not any(Path(file).expanduser().exists() for file in given.split(os.pathsep)):
            raise NoAccess(f"there is no kubeconfig {given}; name one by --kubeconfig or KUBECONFIG")
        try:
            # Of several files the library takes the last one's current context, kubectl the first one's.
            context = context_name(access) or None
            kubernetes_config.load_kube_config(given, context, client_configuration=configuration)
        except (kubernetes_config.ConfigException, OSError, ValueError) as error:
            remedy = "name another by --kubeconfig or KUBECONFIG, another context by --context"
            raise NoAccess(f"the kubeconfig {given} cannot be used: {error} ({remedy})") from error

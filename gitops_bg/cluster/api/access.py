"""Which cluster, and how to reach it: plain values, from options, and the context that counts. Connects to nothing."""

import os
from pathlib import Path
from typing import Any

import yaml

from gitops_bg import __version__
from gitops_bg.core.dataclass import dataclass

IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
"""The variable that every container of a cluster has."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a container of a cluster finds its own account, unless its pod wants none."""


def is_in_pod() -> bool:
    """Return whether this process runs in a container of a cluster: who may forward ports to its pod reaches all that
    listens there on a loopback address.
    """
    return bool(os.environ.get(IN_CLUSTER)) or SERVICE_ACCOUNT.exists()


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach one cluster. Timeouts in seconds; ``pool_size`` is workers + watches.

    Without ``kubeconfig``: the pod's own service account, or outside of a cluster kubectl's default file.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    pool_size: int = 32
    connect_timeout: float = 3.0
    read_timeout: float = 15.0
    user_agent: str = f"gitops-bg/{__version__}"
    impersonate: str = ""
    """The ServiceAccount whose rights count in each namespace (`connection`); empty: our own do everywhere."""
    plain_first: bool = False
    """Whether to do without the client library where the kubeconfig needs none of it (`transport.plain_transport`)."""

    @property
    def kubeconfig_files(self) -> str:
        """The kubeconfig, or several as kubectl joins them, where no service account of a pod is used."""
        return str(self.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config")


def context_name(access: Access) -> str:
    """Return the name of the context; empty where no kubeconfig can be read, or a pod's own account is used."""
    if access.context:
        return access.context
    if access.kubeconfig is None and os.environ.get(IN_CLUSTER):
        return ""
    found = (_current(Path(each).expanduser()) for each in access.kubeconfig_files.split(os.pathsep) if each)
    return next(filter(None, found), "")


def _current(file: Path) -> str:
    try:
        content: Any = yaml.load(file.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except (OSError, ValueError, yaml.YAMLError):
        return ""
    said = content.get("current-context") if isinstance(content, dict) else ""
    return said if isinstance(said, str) else ""

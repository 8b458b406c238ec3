"""The name of the kubeconfig's context that counts. Connects to nothing."""

import os
from pathlib import Path
from typing import Any

import yaml

from gitops_bg.cluster.api.access import IN_CLUSTER, Access


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

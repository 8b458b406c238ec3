"""Writes deploy/chart/README.md: how to install the chart, and every value with its meaning and its default."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[3] / "deploy" / "chart"
PAGE = CHART / "README.md"
COMMAND = "python -m tests.documentation --write-docs"

_HEAD = f"""\
# The chart of gitops-bg

Written by `{COMMAND}` (`make docs`) from `values.yaml` and its schema.

Runs the agent that carries out blue-green deployments of Kubernetes workloads out of a Git repository. Needs Kubernetes
1.20 or newer, and Helm 3.8 or newer.

```console
$ helm install gitops-bg oci://REGISTRY/charts/gitops-bg --version VERSION \\
    --namespace gitops-bg --create-namespace \\
    --set repository=https://git.example.com/shop/config.git --set cluster=prod-eu --set 'watchNamespaces={{shop}}'
```

For a private repository first make the namespace and the Secret, and add
`--set settings.GITOPS_BG_GIT_TOKEN_FILE=/etc/gitops-bg/git/token` to the command above:

```console
$ kubectl create namespace gitops-bg
$ kubectl -n gitops-bg create secret generic gitops-bg-git --from-file=token=./token
```

`helm upgrade` updates the CustomResourceDefinitions, too. `helm uninstall` keeps them, and every app keeps serving.

## Values

| Value | Meaning | Default |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    return _HEAD + "".join(_rows("", schema, values)) + "\nA schema refuses other values.\n"


def _rows(prefix: str, schema: dict[str, Any], values: dict[str, Any]) -> Iterator[str]:
    for name, of in schema["properties"].items():
        if isinstance(values.get(name), dict) and "description" in next(iter(of.get("properties", {}).values()), {}):
            yield from _rows(f"{prefix}{name}.", of, values[name])
        else:
            default = json.dumps(values[name], ensure_ascii=False).replace("|", "\\|")
            yield f"| `{prefix}{name}` | {of['description']} | `{default}` |\n"

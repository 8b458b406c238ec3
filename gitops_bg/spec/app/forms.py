"""How a field is written, for those who wrote it in another form. Knows names of fields, and no schema."""

from collections.abc import Mapping
from typing import Any

from gitops_bg.spec.manifests.image import EXAMPLE
from gitops_bg.spec.yaml.paths import Path

_CONTAINER = f"{{name: web, image: {EXAMPLE}}}"
_PROBE = "{httpGet: {path: /healthz, port: 8080}}"
_ANALYSIS = "{templates: [{templateName: NAME}]}"
_AMOUNTS = "{cpu: 100m, memory: 64Mi}"
_ITEMS: Mapping[str, str] = {
    "containers": _CONTAINER,
    "initContainers": _CONTAINER,
    "env": "{name: NAME, value: text}",
    "envFrom": "{configMapRef: {name: NAME}}",
    "volumes": "{name: NAME, emptyDir: {}}",
    "volumeMounts": "{name: NAME, mountPath: /PATH}",
    "imagePullSecrets": "{name: NAME}",
    "templates": "{templateName: NAME}",
    "webhooks": "{name: NAME, type: event, url: https://HOST}",
    "alerts": "{name: NAME, providerRef: {name: NAME}}",
    "parentRefs": "{name: NAME}",
}
"""An item of a list, by the name of the list."""
_FORMS: Mapping[str, str] = {
    "httpGet": "{path: /healthz, port: 8080}",
    "tcpSocket": "{port: 8080}",
    "exec": "{command: [/PATH]}",
    "readinessProbe": _PROBE,
    "livenessProbe": _PROBE,
    "startupProbe": _PROBE,
    "resources": f"{{requests: {_AMOUNTS}}}",
    "requests": _AMOUNTS,
    "limits": _AMOUNTS,
    "labels": "{app: web}",
    "matchLabels": "{app: web}",
    "annotations": "{KEY: text}",
    "image": EXAMPLE,
    "strategy": "{blueGreen: {activeService: NAME}}",
    "blueGreen": "{activeService: NAME}",
    "promotion": "{via: commit}",
    "suspend": "{reason: text}",
    "prePromotionAnalysis": _ANALYSIS,
    "postPromotionAnalysis": _ANALYSIS,
    "rollbackWindow": "{revisions: 3}",
}
"""A field as a whole, by its name."""


def remedy_for(path: Path, expects: str, value: Any) -> str:
    """How to write what stands at ``path`` in another form; ``expects``: list, dict, or any other type.

    >>> remedy_for(("spec", "containers"), "list", {}), remedy_for(("ports", 0), "dict", 8080)
    ('such as [{name: web, image: registry.example.com/shop/web:1.4.2}]', 'such as {containerPort: 8080}')
    >>> remedy_for(("command",), "list", "./run"), remedy_for(("x",), "dict", [])
    ('write a list: begin each item with "- "', 'write key: value')
    """
    last, number = (str(path[-2]), True) if len(path) > 1 and isinstance(path[-1], int) else (str(path[-1:][0]), False)
    items = {**_ITEMS, "ports": "{port: 80}" if "template" not in path and path[:1] == ("spec",) else _PORT}
    if last in items and expects in ("list", "dict"):
        return f"such as {items[last]}" if number else f"such as [{items[last]}]"
    if last in _FORMS and not number:
        return f"such as {_FORMS[last]}"
    if value is None:
        return "write a value, or remove the field"
    return {"list": 'write a list: begin each item with "- "', "dict": "write key: value"}.get(expects, "")


_PORT = "{containerPort: 8080}"

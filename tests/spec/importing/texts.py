"""What the tests of imports begin with: manifests of the peers, and a repository that has nothing yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.importing.convert import Imported, convert
from gitops_bg.spec.yaml.scalars import written as as_text

PEERS = Path(__file__).parents[2] / "fixtures" / "peers"
EXAMPLES = PEERS / "examples"
EMPTY: dict[str, bytes | Problem] = {
    "gitops-bg.yaml": b"apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n",
}

POD = """\
template:
  metadata: {labels: {app: web}}
  spec:
    containers:
      - name: web
        image: registry.example/shop/web:1.0.0
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {path: /healthz, port: http}}
"""
SELECTOR = "selector: {matchLabels: {app: web}}\n"


def indented(text: str, by: int = 2) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


def manifest(kind: str, api: str, spec: str, name: str = "web", more: str = "") -> str:
    """A manifest of the namespace shop; ``spec`` as YAML."""
    metadata = f"{{name: {name}, namespace: shop{more}}}"
    return f"apiVersion: {api}\nkind: {kind}\nmetadata: {metadata}\nspec:\n{indented(spec)}"


DEPLOYMENT = manifest("Deployment", "apps/v1", "replicas: 3\n" + SELECTOR + POD)
ROLLOUT = manifest(
    "Rollout",
    "argoproj.io/v1alpha1",
    f"{SELECTOR}{POD}strategy: {{blueGreen: {{activeService: web, previewService: web-preview}}}}\n",
)
CANARY = manifest(
    "Canary",
    "flagger.app/v1beta1",
    "targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\nservice: {port: 80, targetPort: http}\n"
    "analysis: {interval: 30s, iterations: 5, threshold: 2}\n",
)
SERVICE = manifest("Service", "v1", "selector: {app: web}\nports: [{name: http, port: 80, targetPort: http}]\n")


def imported(*texts: str, repository: dict[str, bytes | Problem] | None = None, namespace: str = "") -> Imported:
    """The import of files 0.yaml, 1.yaml and so on."""
    sources = [(f"{number}.yaml", text.encode()) for number, text in enumerate(texts)]
    return convert(sources, EMPTY if repository is None else repository, namespace)


WITHOUT_A_WORD = {
    ("revisionHistoryLimit", 10),
    ("progressDeadlineSeconds", 600),
    ("provider", "kubernetes"),
    ("abortScaleDownDelaySeconds", 0),
    ("minReadySeconds", 0),
    ("scaleDown", "never"),
}
"""Fields of peers with their defaults, and what app.yaml says in other words."""


def lost(documents: Iterable[Any], found: Imported) -> Iterator[str]:
    """The values in `spec` of Rollouts and Canaries that no file has, and that nothing is said of."""
    written = {
        str(value) for text in found.files.values() for each in yaml.safe_load_all(text) for _, value in leaves(each)
    }
    said = [each.field for each in found.listed]
    for document in documents:
        if document and document["kind"] in ("Rollout", "Canary"):
            for path, value in leaves(document["spec"], ("spec",)):
                place = as_text(path)
                is_said = any(place == each or place.startswith((f"{each}.", f"{each}[")) for each in said)
                if str(value) not in written and not is_said and (path[-1], value) not in WITHOUT_A_WORD:
                    yield f"{place}: {value}"


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value that has none inside of it, with its path."""
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        yield from (leaf for key, each in inner for leaf in leaves(each, (*path, key)))
    elif value is not None:
        yield path, value


def value_of(found: Imported, path: str) -> Any:
    """What a file of one document says."""
    assert not found.problems, [str(each) for each in found.problems]
    return yaml.safe_load(found.files[path])


def app(found: Imported) -> dict[str, Any]:
    """``spec`` of app.yaml of the app shop/web."""
    spec: dict[str, Any] = value_of(found, "apps/shop/web/app.yaml")["spec"]
    return spec


def fields(problems: tuple[Problem, ...]) -> list[str]:
    """Where each is: ``0.yaml:5 spec.x``."""
    return [f"{each.file}:{each.line} {each.field}" for each in problems]

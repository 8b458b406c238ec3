"""What a target is rendered from, and the files of an app's folder that come of it: whether one of them is stale is
known without helm and kustomize (decision 68). Pure.
"""

import hashlib
import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import KUSTOMIZATIONS, member_of
from gitops_bg.spec.app.models import Render
from gitops_bg.spec.importing.manifest import cleaned
from gitops_bg.spec.manifests.objects import ALLOWED, remedy_for
from gitops_bg.spec.manifests.target import APPS_KINDS, POD_SPEC_WORKLOAD
from gitops_bg.spec.yaml.reader import Document, read
from gitops_bg.spec.yaml.scalars import as_map, to_yaml

# --- the files that it is rendered from, and their digest ---
# Of a chart all its files and the values count. Of a kustomization all files of its folder, and of every folder or file
# that a kustomization.yaml among them names: whatever text in it is a path that exists. Bases elsewhere (https, git)
# are not known here; the digest holds while only they change.

Below = Callable[[str], Mapping[str, bytes]]
"""Returns the files at or below a path of the repository, by path; none where it is not there."""


def inputs_of(render: Render, below: Below) -> dict[str, bytes]:
    """Return all files that a target is rendered from, by path."""
    if render.helm is not None:
        return {path: data for place in (render.helm.chart, *render.helm.values) for path, data in below(place).items()}
    return _of_kustomization(render.kustomize or "", below)


def missing(render: Render, below: Below) -> list[str]:
    """Return the places that ``render`` names and that are not there."""
    named = [render.helm.chart, *render.helm.values] if render.helm else [render.kustomize or ""]
    return [place for place in named if not below(place)]


def digest_of(app: AppKey, render: Render, inputs: Mapping[str, bytes]) -> str:
    """Return the digest of inputs: of how, for which app, and of each file with its path; ``sha256:`` and hex
    digits.
    """
    how = json.dumps(render.model_dump(mode="json", by_alias=True, exclude_none=True), sort_keys=True)
    found = hashlib.sha256(f"{app}\0{how}\0".encode())
    for path in sorted(inputs):
        found.update(f"{path}\0{len(inputs[path])}\0".encode())
        found.update(inputs[path])
    return f"sha256:{found.hexdigest()}"


def _of_kustomization(folder: str, below: Below) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        new = {path: data for path, data in below(place).items() if path not in found}
        found |= new
        for path, data in new.items():
            base, _, name = path.rpartition("/")
            if name in KUSTOMIZATIONS:
                waiting.extend(_named_in(base, path, data))
    return found


def _named_in(folder: str, path: str, data: bytes) -> Iterator[str]:
    """Yield the places in the repository that the texts of a kustomization.yaml may name, whether they exist or not."""
    for document in read(path, data).documents:
        for text in _texts(document.value):
            for part in {text, text.rpartition("=")[2]}:  # configMapGenerator.files: key=path
                place = posixpath.normpath(posixpath.join(folder, part))
                if part and "\n" not in part and "://" not in part and not place.startswith(("..", "/")):
                    yield place


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


# --- what was rendered, as the files of an app's folder ---
# The first line of a file says from which inputs it was rendered, and what its text was: so `check` knows a stale file,
# and one that somebody changed by hand.

BESIDE_FILE = "rendered.yaml"
"""The file of what was rendered beside the workload."""
_HEAD = re.compile(
    r"# Rendered by gitops-bg render from .+: inputs (?P<inputs>sha256:[0-9a-f]{64}), "
    r"text (?P<text>sha256:[0-9a-f]{64})\n"
)
_WORKLOADS = (*APPS_KINDS, POD_SPEC_WORKLOAD, "Rollout")


@dataclass(frozen=True, slots=True)
class Rendered:
    """The texts of files by their names in the folder, and what was left out, and why."""

    files: Mapping[str, str]
    listed: tuple[Problem, ...] = field(default=())


def rendered(folder: str, render: Render, target_file: str, printed: bytes, inputs: str) -> Rendered:
    """Return the files of an app's folder of what helm or kustomize printed. Raises `InvalidInput` where that is no
    target.

    ``inputs`` is the digest of what it was rendered from.
    """
    name = f"what {render.source} renders"
    reading = read(name, printed)
    if reading.problems:
        raise InvalidInput(*reading.problems)
    documents = [each for each in reading.documents if isinstance(each.value, dict)]
    target = _target(_names(folder), name, documents)
    beside, listed = _companions([each for each in documents if each is not target])
    texts = {target_file: to_yaml(cleaned(target.value))}
    if beside:
        texts[BESIDE_FILE] = "---\n".join(to_yaml(each) for each in beside)
    return Rendered({file: with_head(render, inputs, text) for file, text in texts.items()}, tuple(listed))


def with_head(render: Render, inputs: str, text: str) -> str:
    """Return the text of a file with the line that says what it was rendered from."""
    return f"# Rendered by gitops-bg render from {render.source}: inputs {inputs}, text {_digest(text)}\n{text}"


def what_is_stale(data: bytes, inputs: str) -> str:
    """Return why a file is not what its inputs render; empty where it is.

    >>> what_is_stale(b"kind: Deployment", "sha256:00")
    'was not written by `gitops-bg render`'
    """
    text = data.decode(errors="replace")
    head = _HEAD.match(text)
    if head is None:
        return "was not written by `gitops-bg render`"
    if head["inputs"] != inputs:
        return "is stale: what it is rendered from has changed since"
    return "" if head["text"] == _digest(text[head.end() :]) else "was changed by hand after it was rendered"


def was_rendered(data: bytes) -> bool:
    """Return whether `gitops-bg render` wrote a file."""
    return _HEAD.match(data.decode(errors="replace")) is not None


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _names(folder: str) -> list[str]:
    """Return what the workload may be called: as the app, or, of a member of a release group, as the service."""
    member = member_of(folder)
    return [member.service, member.app.name] if member else [folder.rpartition("/")[2]]


def _target(names: list[str], name: str, documents: list[Document]) -> Document:
    """Return the workload called as the app. Raises `InvalidInput` where there is none, or another one."""
    workloads = [each for each in documents if each.value.get("kind") in _WORKLOADS]
    found = [each for each in workloads if as_map(each.value.get("metadata")).get("name") in names]
    if len(found) == 1:
        return found[0]
    others = [f"{each.value['kind']} {as_map(each.value.get('metadata')).get('name')}" for each in workloads]
    message = f"has no workload called {names[0]}, and its target has to be; it has {', '.join(others) or 'none'}"
    remedy = "helm: set fullnameOverride in the values; kustomize: namePrefix, nameSuffix, or the name itself"
    raise InvalidInput(Problem(name, message, remedy=remedy))


def _companions(documents: list[Document]) -> tuple[list[dict[str, Any]], list[Problem]]:
    taken: list[dict[str, Any]] = []
    listed: list[Problem] = []
    for each in documents:
        problem = next(_left_out(each), None)
        if problem:
            listed.append(problem)
        else:
            taken.append(_without_selector(cleaned(each.value)))
    return taken, listed


def _left_out(document: Document) -> Iterator[Problem]:
    kind, metadata = str(document.value.get("kind")), as_map(document.value.get("metadata"))
    what = f"{kind} {metadata.get('name')} is left out"
    if any(key.startswith("helm.sh/hook") for key in as_map(metadata.get("annotations"))):
        remedy = "write a webhook, or an analysis with a Job"
        yield document.problem(("metadata", "annotations"), f"{what}: hooks of a chart are not run", remedy)
    elif kind == "Secret":
        remedy = "keep it in the cluster, or in Git encrypted: docs/features/configuration.md"
        yield document.problem(("kind",), f"{what}: its values do not belong into Git as they are", remedy)
    elif kind not in ALLOWED:
        yield document.problem(("kind",), what, remedy_for(kind, ", ".join(ALLOWED)))


def _without_selector(value: dict[str, Any]) -> dict[str, Any]:
    """Return a Service without its selector, which the agent sets."""
    if value.get("kind") != "Service":
        return value
    return {**value, "spec": {key: each for key, each in as_map(value.get("spec")).items() if key != "selector"}}

"""The files that a target is rendered from, and their digest: whether they changed is known without rendering.

Of a chart all its files and the values count. Of a kustomization all files of its folder, and of every folder or file
that a kustomization.yaml among them names: whatever text in it is a path that exists. Bases elsewhere (https, git) are
not known here; the digest holds while only they change.
"""

import hashlib
import json
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import KUSTOMIZATIONS
from gitops_bg.spec.app.render import Render
from gitops_bg.spec.yaml.reader import read

Below = Callable[[str], Mapping[str, bytes]]
"""Returns the files at or below a path of the repository, by path; none where it is not there."""


def inputs_of(render: Render, below: Below) -> dict[str, bytes]:
    """All files that a target is rendered from, by path."""
    if render.helm is not None:
        return {path: data for place in (render.helm.chart, *render.helm.values) for path, data in below(place).items()}
    return _of_kustomization(render.kustomize or "", below)


def missing(render: Render, below: Below) -> list[str]:
    """The places that ``render`` names and that are not there."""
    named = [render.helm.chart, *render.helm.values] if render.helm else [render.kustomize or ""]
    return [place for place in named if not below(place)]


def digest_of(app: AppKey, render: Render, inputs: Mapping[str, bytes]) -> str:
    """The digest of inputs: of how, for which app, and of each file with its path; ``sha256:`` and hex digits."""
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
    """The places in the repository that the texts of a kustomization.yaml may name, whether they exist or not."""
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

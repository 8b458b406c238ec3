"""Checks of a ConfigMap or Secret before the API server is asked.

Never shows a value: a problem names the key.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.digest import canonical_json
from gitops_bg.spec.app.layout import SUBDOMAIN
from gitops_bg.spec.manifests.configuration import TRACKING, Configuration, canonical_base64, configuration_of, listing
from gitops_bg.spec.manifests.references import CONFIG_MAP, SECRET
from gitops_bg.spec.yaml.emit import to_yaml
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document, kind_of

MAX_OBJECT_BYTES = 1024 * 1024
"""https://kubernetes.io/docs/concepts/configuration/configmap/: the data cannot exceed 1 MiB."""
MAX_BYTES = 700_000
"""The limit for all configuration of a version, as written in primary.yaml: that file may have 1 MiB, including the pod
template.
"""

_KEY = re.compile(r"(?!\.\.)(?!\.\Z)[-._a-zA-Z0-9]{1,253}")
_NAME = re.compile(SUBDOMAIN)
_CERTAINLY_FITS = 50_000  # Characters of JSON; its YAML never exceeds MAX_BYTES.


def check_configuration(document: Document) -> Iterator[Problem]:
    """The problems of a ConfigMap or Secret of a folder, without its values."""
    body, is_secret = document.value, document.value["kind"] == SECRET
    if "sops" in body:
        remedy = "apply the decrypted object by other means, and take this file out of the folder of the app"
        yield document.problem(("sops",), "an object encrypted by SOPS cannot be used: nothing here decrypts", remedy)
        return
    if not _NAME.fullmatch(body["metadata"]["name"]):
        remedy = "use small letters, digits, - and ."
        yield document.problem(("metadata", "name"), "is no name that Kubernetes takes", remedy)
    found = [*_check_annotation(document), *_check_map(document, "data", encoded=is_secret)]
    if is_secret:
        found += _check_map(document, "stringData", encoded=False)
        if not isinstance(body.get("type", ""), str):
            yield document.problem(("type",), f"expected text, found {kind_of(body['type'])}", "write Opaque")
    else:
        found += _check_map(document, "binaryData", encoded=True)
        found += _check_twice(document)
    yield from found
    size = 0 if found else _size(body)
    if size > MAX_OBJECT_BYTES:
        message = f"it holds {size:,} bytes; Kubernetes takes {MAX_OBJECT_BYTES:,}"
        yield document.problem((), message, "split it, or keep the data elsewhere")


def check_size(configuration: Iterable[Configuration], document: Document, template: Path) -> Iterator[Problem]:
    """Check that all of it fits into primary.yaml; a problem is reported at ``template`` of the target, which refers to
    it.
    """
    listed = listing(configuration)
    if len(canonical_json(listed)) <= _CERTAINLY_FITS:
        return
    size = len(to_yaml({"configuration": listed}).encode())
    if size > MAX_BYTES:
        message = f"its ConfigMaps and Secrets have {size:,} bytes in primary.yaml; a version may have {MAX_BYTES:,}"
        remedy = f"take large ones out of the version by the annotation {TRACKING[0]}: disabled"
        yield document.problem(template, message, remedy)


def _check_annotation(document: Document) -> Iterator[Problem]:
    """Check our own annotation only: Flagger ignores unknown values of its own, and so do we."""
    annotations = document.value["metadata"].get("annotations")
    word = annotations.get(TRACKING[0]) if isinstance(annotations, Mapping) else None
    if word is not None and not str(word).startswith(("disable", "enable")):
        path = ("metadata", "annotations", TRACKING[0])
        yield document.problem(path, f"{word!r} is not allowed", "write disabled, or remove it")


def _check_map(document: Document, name: str, *, encoded: bool) -> Iterator[Problem]:
    """Check a map of texts whose keys can be file names."""
    found = document.value.get(name)
    if found is None:
        return
    if not isinstance(found, Mapping):
        yield document.problem((name,), f"expected a mapping, found {kind_of(found)}")
        return
    for key, value in found.items():
        if not _KEY.fullmatch(str(key)):
            remedy = "use letters, digits, -, _ and ."
            yield document.problem((name, key), "is no key that Kubernetes takes", remedy, at_key=True)
        elif not isinstance(value, str):
            yield document.problem((name, key), f"expected text, found {kind_of(value)}", "put it in quotes")
        elif encoded and not _is_encoded(value):
            remedy = "write the text under stringData" if document.value["kind"] == SECRET else "encode it"
            yield document.problem((name, key), "is not base64", remedy)


def _check_twice(document: Document) -> Iterator[Problem]:
    data, binary = (document.value.get(name) for name in ("data", "binaryData"))
    if isinstance(data, Mapping) and isinstance(binary, Mapping):
        for key in data.keys() & binary.keys():
            yield document.problem(("binaryData", key), "is in data, too", "keep one of the two", at_key=True)


def _size(body: Mapping[str, Any]) -> int:
    found = configuration_of(body["kind"], body["metadata"]["name"], body).content
    texts: Mapping[str, str] = found.get("data", {})
    encoded = {**found.get("binaryData", {}), **(texts if body["kind"] == SECRET else {})}
    plain = texts.values() if body["kind"] == CONFIG_MAP else ()
    return sum(len(text.encode()) for text in plain) + sum(len(base64.b64decode(text)) for text in encoded.values())


def _is_encoded(text: str) -> bool:
    try:
        canonical_base64(text)
    except ValueError:
        return False
    return True

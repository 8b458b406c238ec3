"""ConfigMaps and Secrets that are part of a version: where a pod template refers to them, their content in the one form
that is hashed and copied, which of an app's folder count, and what is wrong with one before the API server is asked.
"""

import base64
import binascii
import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.digest import Json, canonical_json, content_digest
from gitops_bg.core.model.version import ConfigurationRef
from gitops_bg.core.names import GROUP
from gitops_bg.spec.app.layout import SUBDOMAIN
from gitops_bg.spec.manifests.target import pod_paths, template_of
from gitops_bg.spec.yaml.reader import Document, kind_of
from gitops_bg.spec.yaml.scalars import Path, to_yaml

CONFIG_MAP = "ConfigMap"
SECRET = "Secret"  # noqa: S105 (a kind)

Named = tuple[str, str]
"""Kind and name of an object of the app's namespace."""

_CONTAINER: tuple[tuple[str, str], ...] = (
    ("env.valueFrom.configMapKeyRef.name", CONFIG_MAP),
    ("env.valueFrom.secretKeyRef.name", SECRET),
    ("envFrom.configMapRef.name", CONFIG_MAP),
    ("envFrom.secretRef.name", SECRET),
)
_VOLUME: tuple[tuple[str, str], ...] = (
    ("configMap.name", CONFIG_MAP),
    ("secret.secretName", SECRET),
    ("projected.sources.configMap.name", CONFIG_MAP),
    ("projected.sources.secret.name", SECRET),
    ("csi.nodePublishSecretRef.name", SECRET),
    ("azureFile.secretName", SECRET),
    ("cephfs.secretRef.name", SECRET),
    ("cinder.secretRef.name", SECRET),
    ("flexVolume.secretRef.name", SECRET),
    ("iscsi.secretRef.name", SECRET),
    ("rbd.secretRef.name", SECRET),
    ("scaleIO.secretRef.name", SECRET),
    ("storageos.secretRef.name", SECRET),
)
TABLE: tuple[tuple[tuple[str, ...], str], ...] = tuple(
    (tuple(f"spec.{path}".split(".")), kind)
    for path, kind in (
        ("imagePullSecrets.name", SECRET),
        *((f"volumes.{path}", kind) for path, kind in _VOLUME),
        *((f"{group}.{path}", kind) for group in ("containers", "initContainers") for path, kind in _CONTAINER),
    )
)
"""Each path from the template to a name, and the kind of the named object. A list on the path means each of
its items.
"""


def references(template: Any) -> frozenset[Named]:
    """Return every ConfigMap and Secret that a pod template refers to, optional or not.

    >>> pod = {"volumes": [{"configMap": {"name": "web"}}], "imagePullSecrets": [{"name": "registry"}]}
    >>> sorted(references({"spec": pod}))
    [('ConfigMap', 'web'), ('Secret', 'registry')]
    """
    return frozenset(
        (kind, holder[path[-1]])
        for path, kind in TABLE
        for holder in _holders(template, path[:-1])
        if isinstance(holder.get(path[-1]), str)
    )


def redirected(template: Mapping[str, Any], names: Mapping[Named, str]) -> Mapping[str, Any]:
    """Return a pod template that refers to the objects of ``names`` instead of its own. Changes nothing in place.

    >>> redirected({"spec": {"volumes": [{"configMap": {"name": "web"}}]}}, {("ConfigMap", "web"): "web-3f9c012345"})
    {'spec': {'volumes': [{'configMap': {'name': 'web-3f9c012345'}}]}}
    """
    if not names:
        return template
    changed = copy.deepcopy(template)
    for path, kind in TABLE:
        for holder in _holders(changed, path[:-1]):
            if (kind, holder.get(path[-1])) in names:
                holder[path[-1]] = names[kind, holder[path[-1]]]
    return changed


def _holders(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """Yield the maps at the end of a path; values of an unexpected shape are ignored."""
    if isinstance(value, list):
        for item in value:
            yield from _holders(item, path)
    elif isinstance(value, dict):
        if path:
            yield from _holders(value.get(path[0]), path[1:])
        else:
            yield value


TRACKING = (f"{GROUP}/config-tracking", "flagger.app/config-tracking")
"""Annotations by which an author excludes a manifest from the version; Flagger's annotation counts as well."""
NOT_COPIED = frozenset({"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"})
"""Types of Secrets that work only under their own name, because a controller looks for it."""

_OPAQUE = "Opaque"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The content of one ConfigMap or Secret.

    ``content`` has kind, name, type, data and binaryData, as far as they exist.

    Everything in ``data`` of a Secret, and all of ``binaryData``, is base64. Never shown by ``repr``.
    """

    ref: ConfigurationRef
    content: Mapping[str, Any] = field(repr=False)


def configuration_of(kind: str, name: str, body: Mapping[str, Any]) -> Configuration:
    """Return the content of a valid object: a manifest, an item of primary.yaml, a live copy of ``name``.

    ``stringData`` of a Secret becomes part of its ``data``, and its type is left out where it is the default. Raises
    ``ValueError`` for invalid base64.
    """
    data, binary = dict(body.get("data") or {}), dict(body.get("binaryData") or {})
    if kind == SECRET:
        data = {key: canonical_base64(value) for key, value in data.items()}
        data |= {key: _encoded(value) for key, value in (body.get("stringData") or {}).items()}
    parts: dict[str, Json] = {
        "kind": kind,
        "name": name,
        "type": body.get("type") if kind == SECRET and body.get("type") != _OPAQUE else None,
        "data": data,
        "binaryData": {key: canonical_base64(value) for key, value in binary.items()},
    }
    content = {key: _sorted(value) for key, value in parts.items() if value}
    return Configuration(ConfigurationRef(kind, name, content_digest(content)), content)


def find(configuration: Iterable[Configuration], ref: ConfigurationRef) -> Configuration | None:
    """Return the configuration that ``ref`` refers to, or None."""
    return next((each for each in configuration if each.ref == ref), None)


def is_tracked(manifest: Mapping[str, Any], referred_to: frozenset[Named]) -> bool:
    """Return whether a manifest of an app's folder is part of its versions: its pod template refers to it
    (`references`).

    An annotation excludes it, and so does a type of Secret that works only under its own name.

    >>> is_tracked({"kind": "ConfigMap", "metadata": {"name": "web"}}, frozenset({("ConfigMap", "web")}))
    True
    """
    metadata = manifest["metadata"]
    if (manifest["kind"], metadata["name"]) not in referred_to or str(manifest.get("type")) in NOT_COPIED:
        return False
    annotations = metadata.get("annotations")
    words = (annotations.get(key) for key in TRACKING) if isinstance(annotations, Mapping) else ()
    return not any(isinstance(word, str) and word.startswith("disable") for word in words)


def listing(configuration: Iterable[Configuration]) -> list[dict[str, Any]]:
    """Return the configuration items of primary.yaml, in the order of the digest, with keys in a fixed order."""
    keys = ("kind", "name", "type", "data", "binaryData")
    ordered = sorted(configuration, key=lambda each: each.ref)
    return [{key: each.content[key] for key in keys if key in each.content} for each in ordered]


def text_of(refs: Iterable[ConfigurationRef]) -> str:
    """Return references as the text of an annotation; empty for none. `refs_in` reads it.

    >>> text_of([ConfigurationRef("ConfigMap", "web", "v1:3f")])
    '[["ConfigMap","web","v1:3f"]]'
    """
    listed = [[ref.kind, ref.name, ref.digest] for ref in sorted(refs)]
    return json.dumps(listed, separators=(",", ":")) if listed else ""


def refs_in(text: str) -> tuple[ConfigurationRef, ...]:
    """Return the references in a text of `text_of`; none where somebody else wrote it: the snapshot is then not
    genuine.
    """
    try:
        return tuple(ConfigurationRef(*map(str, item)) for item in read_json(text)) if text else ()
    except (ValueError, TypeError):
        return ()


def _sorted(value: Json) -> Json:
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


def canonical_base64(text: str) -> str:
    """Return Base64 text without the line breaks that Kubernetes ignores. Raises ``ValueError``."""
    try:
        return base64.b64encode(base64.b64decode(re.sub("[\r\n]", "", text), validate=True)).decode()
    except binascii.Error as error:
        raise ValueError("is not base64") from error


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


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
    """Yield the problems of a ConfigMap or Secret of a folder, without its values."""
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


@dataclass(frozen=True, slots=True)
class Tracked:
    """The objects of the folder that a target's template refers to."""

    configuration: tuple[Configuration, ...] = ()
    files: tuple[str, ...] = ()
    """The paths of their files, sorted."""
    problems: tuple[Problem, ...] = ()
    elsewhere: frozenset[Named] = frozenset()
    """The objects that the template refers to and the folder lacks: shared, and used live."""
    untracked: tuple[str, ...] = ()
    """The paths of the files with objects that it refers to and that are no part of it, sorted."""


NOTHING = Tracked()


def track(target: Document, manifests: Mapping[Named, Document]) -> Tracked:
    """Return the configuration of the target in ``target``; with problems, none of it may be used."""
    wanted = references(template_of(target.value))
    if not wanted:
        return NOTHING
    documents = [each for name, each in sorted(manifests.items()) if name in wanted and is_tracked(each.value, wanted)]
    problems = [problem for each in documents for problem in check_configuration(each)]
    configuration = () if problems else tuple(_read(documents))
    problems.extend(check_size(configuration, target, pod_paths(target.value).template))
    files = tuple(sorted({each.file for each in documents}))
    others = {each.file for name, each in manifests.items() if name in wanted} - {*files}
    return Tracked(configuration, files, tuple(problems), wanted - manifests.keys(), tuple(sorted(others)))


def _read(documents: list[Document]) -> Iterator[Configuration]:
    for each in documents:
        yield configuration_of(each.value["kind"], each.value["metadata"]["name"], each.value)

"""Checks of `activeMetadata` and `previewMetadata`: valid for Kubernetes, and without labels that select pods."""

import re
from collections.abc import Iterator, Mapping

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import NO_METADATA, PodMetadata
from gitops_bg.core.names import GROUP
from gitops_bg.spec.app import models
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document

ROLES = ("activeMetadata", "previewMetadata")
_BLUE_GREEN: Path = ("spec", "strategy", "blueGreen")

# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
_NAME = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_PREFIX = 253


def to_core(written: models.PodMetadata | None) -> PodMetadata:
    """The core's view of one of the two."""
    if written is None:
        return NO_METADATA
    return PodMetadata(_pairs(written.labels), _pairs(written.annotations))


def _pairs(values: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((values or {}).items()))


def check_pod_metadata(document: Document, spec: models.AppSpec, selected: Mapping[str, str]) -> Iterator[Problem]:
    """The problems of the two in app.yaml; ``selected``: the labels by which the target selects, and their fields."""
    blue_green = spec.strategy.blue_green
    for role, written in zip(ROLES, (blue_green.active_metadata, blue_green.preview_metadata), strict=True):
        if written is not None:
            yield from _check(document, (*_BLUE_GREEN, role), written, selected)


def _check(
    document: Document, path: Path, written: models.PodMetadata, selected: Mapping[str, str]
) -> Iterator[Problem]:
    for key, value in (written.labels or {}).items():
        at = (*path, "labels", key)
        yield from _check_key(document, at, key)
        if key in selected:
            message = f"the target selects its pods by this label ({selected[key]}), so no role may change it"
            yield document.problem(at, message, "use a label of its own", at_key=True)
        if value and not _NAME.fullmatch(value):
            remedy = (
                "at most 63 letters, digits, - _ and ., letters or digits at both ends; an annotation takes any text"
            )
            yield document.problem(at, f"{value!r} is no value of a label", remedy)
    for key in written.annotations or {}:
        yield from _check_key(document, (*path, "annotations", key), key)


def _check_key(document: Document, path: Path, key: str) -> Iterator[Problem]:
    prefix, slash, name = key.rpartition("/")
    if prefix == GROUP or prefix.endswith(f".{GROUP}"):
        yield document.problem(path, f"{GROUP}/ is reserved for gitops-bg", "use a prefix of your own", at_key=True)
    elif not _NAME.fullmatch(name) or (slash and not _is_prefix(prefix)):
        remedy = "at most 63 letters, digits, - _ and ., after a DNS name and / where you like"
        yield document.problem(path, f"{key!r} is no key that Kubernetes takes", remedy, at_key=True)


def _is_prefix(prefix: str) -> bool:
    return len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix) is not None

"""Releases: the base of an app, as it travels from environment to environment, and ``release.yaml``, which says which
one an environment has. Written and read only here: a written file reads back with the same digest, and gives the same
bytes in every environment.

A release has the whole workload of ``target.yaml``, before any overlay, with the shared ConfigMaps and Secrets that its
pod template refers to; so what a later environment runs needs no other file of its day.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import ReleaseSnapshot
from gitops_bg.core.errors import InternalError
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.digest import Json, canonical_json, without_nulls
from gitops_bg.core.model.version import RELEASE_PREFIX, AppKey, ConfigurationRef, ReleaseId, Source
from gitops_bg.core.names import API_VERSION
from gitops_bg.core.written import Digest, Positive
from gitops_bg.spec.app.fields import Model
from gitops_bg.spec.app.layout import RELEASE_FILE
from gitops_bg.spec.app.models import Metadata, Origin, PrimaryConfiguration
from gitops_bg.spec.app.primary import contents_in, origin_of, source_in
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.manifests.configuration import Configuration, Named, listing
from gitops_bg.spec.manifests.objects import check_place
from gitops_bg.spec.manifests.target import POD_SPEC_WORKLOAD
from gitops_bg.spec.yaml.layered import below
from gitops_bg.spec.yaml.reader import Document, read_one
from gitops_bg.spec.yaml.scalars import to_yaml

HEADER = """\
# The release that came into this environment. gitops-bg writes this file; what an environment has of its own is in
# overlay.yaml. Change the app's target.yaml instead, which the first environment follows, or promote another release.
"""


class ReleaseDocument(Model):
    """``release.yaml``: the release that an environment has, written by the agent or by what people merge."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["Release"]
    metadata: Metadata
    release: Positive
    digest: Digest
    source: Origin
    target: Annotated[dict[str, Any], Field(min_length=1)]
    configuration: list[PrimaryConfiguration] | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """One release with its content."""

    snapshot: ReleaseSnapshot
    configuration: tuple[Configuration, ...] = ()
    """The content of what the snapshot refers to."""

    @property
    def id(self) -> ReleaseId:
        """Its number and digest."""
        return self.snapshot.id

    @property
    def target(self) -> dict[str, Any]:
        """The workload."""
        return reread_json(self.snapshot.target)  # type: ignore[no-any-return]


def release_of(
    target: Mapping[str, Any], configuration: Iterable[Configuration], source: Source, number: int = 0
) -> Release:
    """Return the release that a valid ``target.yaml`` is, with the shared configuration its pod template refers to."""
    contents = tuple(sorted(configuration, key=lambda each: each.ref))
    base = _base(target)
    refs = tuple(each.ref for each in contents)
    snapshot = ReleaseSnapshot(
        ReleaseId(number, _digest(base, refs), source.commit), source, canonical_text(base), refs
    )
    return Release(snapshot, contents)


def canonical_text(value: Json) -> str:
    """Return the text of a release's workload: sorted, without nulls; empty maps stay, which mean something."""
    return json.dumps(without_nulls(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _base(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the workload without what only its author and other tools read; those of OAM give their annotations to
    pods.
    """
    metadata = dict(target.get("metadata") or {})
    if target.get("kind") != POD_SPEC_WORKLOAD:
        metadata.pop("annotations", None)
    return {**{key: value for key, value in target.items() if key != "status"}, "metadata": metadata}


def _digest(base: Mapping[str, Any], refs: Iterable[ConfigurationRef]) -> str:
    listed: Json = [[ref.kind, ref.name, ref.digest] for ref in refs]
    text = canonical_json({"target": base, "configuration": listed})
    return RELEASE_PREFIX + hashlib.sha256(text.encode()).hexdigest()


def release_document(app: AppKey, release: Release, file: str) -> str:
    """Return the text of ``release.yaml``: the same release gives the same bytes, whatever the environment.

    ``file`` is its path, named in the error. Raises `InternalError` where `read_release` would refuse the text.
    """
    content: dict[str, Json] = {
        "apiVersion": API_VERSION,
        "kind": "Release",
        "metadata": {"name": app.name, "namespace": app.namespace},
        "release": release.id.number,
        "digest": release.id.digest,
        "source": origin_of(release.snapshot.source),
        "target": release.target,
    }
    configuration: Json = listing(release.configuration)
    text = HEADER + to_yaml(content | ({"configuration": configuration} if configuration else {}))
    document, problems = read_one(file, text.encode())
    problems = read_release(document, app)[1] if document is not None else problems
    if problems:
        raise InternalError(f"{release.id.name} cannot be written to main, where it would be invalid: {problems[0]}")
    return text


def read_release(document: Document, app: AppKey) -> tuple[Release | None, tuple[Problem, ...]]:
    """Read a ``release.yaml``; None and its problems where it is invalid, above all where its digest is not that of its
    content: somebody edited it by hand.
    """
    model, problems = validate(ReleaseDocument, document)
    if model is None:
        return None, problems
    problems = tuple(check_place(document, app, model.metadata, named=True))
    contents = contents_in(document, _REMEDY)
    if isinstance(contents, Problem):
        return None, (*problems, contents)
    found = release_of(document.value["target"], contents, source_in(model.source), model.release)
    if model.digest != found.id.digest:
        problems += (document.problem(("digest",), _why(model.digest, found.id), _REMEDY),)
    return (None, problems) if problems else (found, ())


def _why(written: str, found: ReleaseId) -> str:
    if not written.startswith(RELEASE_PREFIX):
        return f"is no digest of a release, which begins with {RELEASE_PREFIX}"
    return f"what is below it has the digest {found.digest}: it was edited by hand or by a bot, or merged badly"


_REMEDY = (
    f"revert the edit, and write what this environment has of its own into its overlay.yaml; "
    f"leave {RELEASE_FILE} out of what bots change"
)


def configuration_in(document: Document, app: AppKey) -> dict[Named, Document]:
    """Return the ConfigMaps and Secrets of a valid ``release.yaml`` as documents, by kind and name."""
    found: dict[Named, Document] = {}
    for place, item in enumerate(document.value.get("configuration") or ()):
        metadata = {"name": item["name"], "namespace": app.namespace}
        value = {"apiVersion": "v1", **{key: each for key, each in item.items() if key != "name"}, "metadata": metadata}
        found[item["kind"], item["name"]] = replace(below(document, ("configuration", place)), value=value)
    return found

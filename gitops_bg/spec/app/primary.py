"""Reads and writes primary.yaml, the promoted snapshot: a written file reads back with the same digest. Of two of them
it tells the differences in ConfigMaps and Secrets, by name and key, and never shows a value.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gitops_bg.core.checks.ports import written
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InternalError, InvalidInput
from gitops_bg.core.foreign_json import read_json, reread_json
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.digest import PREFIX, Json, snapshot_of
from gitops_bg.core.model.version import (
    AppKey,
    ConfigurationRef,
    ReleaseId,
    ServicePorts,
    Snapshot,
    Source,
    Version,
    WorkloadKind,
    short,
)
from gitops_bg.core.names import API_VERSION
from gitops_bg.spec.app import models
from gitops_bg.spec.app.layout import PRIMARY_FILE, folder_of
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.manifests.configuration import Configuration, configuration_of, find, listing
from gitops_bg.spec.manifests.objects import check_place
from gitops_bg.spec.yaml.reader import Document, read_one
from gitops_bg.spec.yaml.scalars import to_yaml

HEADER = """\
# The version that live traffic follows. gitops-bg writes this file, by a promotion or a rollback.
# Change it with `gitops-bg promote`, by merging the promotion branch, or by reverting a promotion; not by hand.
"""

UNKNOWN_COMMIT = "0" * 40
"""What primary.yaml names where nobody knows the commit that brought a template: git's own name for no commit."""


@dataclass(frozen=True, slots=True)
class PrimaryFile:
    """The content of primary.yaml."""

    snapshot: Snapshot
    version: int
    source: Source
    configuration: tuple[Configuration, ...] = ()
    """The content of the snapshot's ConfigMaps and Secrets."""
    services: tuple[ServicePorts, ...] = ()
    """The ports of live traffic with this version; no part of its digest."""
    release: ReleaseId | None = None
    """The release that it is of, in an environment; no part of its digest."""


def render_primary(
    app: AppKey,
    version: Version,
    contents: Iterable[Configuration] = (),
    services: Iterable[ServicePorts] = (),
    folder: str = "",
) -> str:
    """Return the text of primary.yaml for a version: the same version gives the same bytes.

    Takes from ``contents`` what the version uses. Raises `InvalidInput` where a part of that is missing: an incomplete
    version must not be written. ``services`` are the ports of live traffic that differ from its template's; ``folder``
    is the app's, named in the error (empty: that of an app in no release group). Raises `InternalError` where
    `read_primary` would refuse the text: once it is in main, the app has no valid version there.
    """
    contents = tuple(contents)
    place = folder or folder_of(app)
    configuration = [_required(place, version, ref, contents) for ref in version.snapshot.configuration]
    content: dict[str, Json] = {
        "apiVersion": API_VERSION,
        "kind": "Primary",
        "metadata": {"name": app.name, "namespace": app.namespace},
        "version": version.number,
        "digest": version.digest,
        "source": origin_of(version.source),
        **({"release": _release_named(version.release)} if version.release else {}),
        **({"workload": str(version.snapshot.workload)} if version.on_every_node else {}),
        "template": reread_json(version.snapshot.text),
    }
    ports: dict[str, Json] = {each.service: {"ports": read_json(each.ports)} for each in sorted(services)}
    more: dict[str, Json] = {"services": ports} if ports else {}
    text = HEADER + to_yaml(content | more | ({"configuration": listing(configuration)} if configuration else {}))
    if refusal := _refusal(f"{place}/{PRIMARY_FILE}", text, app):
        raise InternalError(f"v{version.number} cannot be written to main, where it would be invalid: {refusal}")
    return text


def _release_named(release: ReleaseId) -> dict[str, Json]:
    named: dict[str, Json] = {"number": release.number, "digest": release.digest}
    return named | ({"commit": release.commit} if release.commit else {})


def _refusal(file: str, text: str, app: AppKey) -> str:
    """Return why nobody could read a rendered primary.yaml; empty where all is well."""
    document, problems = read_one(file, text.encode())
    if document is not None:
        _, problems = read_primary(document, app)
    return next(map(str, problems), "")


def _required(
    folder: str, version: Version, ref: ConfigurationRef, contents: tuple[Configuration, ...]
) -> Configuration:
    found = find(contents, ref)
    if found is not None:
        return found
    shown = f"v{version.number} ({short(version.digest)})"
    message = f"what {ref} of {shown} held is nowhere to be found: not in Git's files, main's history or the cluster"
    remedy = f"bring it back into {folder} as it was, or promote a new version"
    raise InvalidInput(Problem(f"{folder}/{PRIMARY_FILE}", message, remedy=remedy))


def origin_of(source: Source) -> dict[str, Json]:
    """Return a commit as files of snapshots name it; `source_in` reads it."""
    origin: dict[str, Json] = {"commit": source.commit or UNKNOWN_COMMIT}
    if source.author:
        origin["author"] = source.author
    if source.date is not None:
        origin["date"] = source.date.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return origin


def read_primary(document: Document, app: AppKey) -> tuple[PrimaryFile | None, tuple[Problem, ...]]:
    """Read a primary.yaml; None and its problems where it is invalid, above all where its digest is not that of its
    template and configuration.

    A digest with a prefix that this release does not know is no problem of the file: an agent must not start a rollout
    because of that (DESIGN §3). The core accepts it where the content is that of a known version.
    """
    model, problems = validate(models.PrimaryDocument, document)
    if model is None:
        return None, problems
    problems = tuple(check_place(document, app, model.metadata, named=True))
    contents = contents_in(document, _remedy(app))
    if isinstance(contents, Problem):
        return None, (*problems, contents)
    workload = WorkloadKind(model.workload or WorkloadKind.REPLICA_SET)
    snapshot = snapshot_of(document.value["template"], (each.ref for each in contents), workload)
    if model.digest.startswith(PREFIX) and model.digest != snapshot.digest:
        problems += (_edited_by_hand(document, app, snapshot),)
    if problems:
        return None, problems
    source = source_in(model.source)
    services = tuple(_ports_in(document.value.get("services") or {}))
    of = model.release
    release = ReleaseId(of.number, of.digest, of.commit) if of else None
    return PrimaryFile(replace(snapshot, digest=model.digest), model.version, source, contents, services, release), ()


def source_in(origin: models.Origin) -> Source:
    """Return the commit that a file of a snapshot names."""
    commit = "" if origin.commit == UNKNOWN_COMMIT else origin.commit
    return Source(commit, origin.author, _utc(origin.date))


def _ports_in(services: Mapping[str, Any]) -> Iterator[ServicePorts]:
    for name in sorted(services):
        yield ServicePorts(name, written(services[name]["ports"]))


def _edited_by_hand(document: Document, app: AppKey, snapshot: Snapshot) -> Problem:
    return document.problem(
        ("digest",),
        f"what is below it has the digest {snapshot.digest}: it was edited by hand or by a bot, or merged badly",
        _remedy(app),
    )


def contents_in(document: Document, remedy: str) -> tuple[Configuration, ...] | Problem:
    """Return what a valid primary.yaml or release.yaml has of ConfigMaps and Secrets; or why that cannot be."""
    items = document.value.get("configuration") or ()
    try:
        return tuple(configuration_of(item["kind"], item["name"], item) for item in items)
    except ValueError as error:
        return document.problem(("configuration",), str(error), remedy)


def _remedy(app: AppKey) -> str:
    return (
        f"revert the edit, change target.yaml instead, and run `gitops-bg promote {app}`; "
        f"leave {PRIMARY_FILE} out of what bots change (docs/how-to/ci.md)"
    )


def _utc(moment: datetime | None) -> datetime | None:
    return moment.astimezone(UTC) if moment is not None else None


TYPE = "(type)"
"""Stands for the type of a Secret among the keys; no key can have this name."""
_MARK = b"\nconfiguration:"
_MOST_KEYS = 10


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """The change of one ConfigMap or Secret. Keys are sorted; the type of a Secret counts as one, `TYPE`."""

    kind: str
    name: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    whole: str = ""
    """`added` or `removed` for a whole object; `changed` where its former content is unknown."""

    def __str__(self) -> str:
        named = f"{self.kind} {self.name}"
        if self.whole:
            return f"{named} {self.whole}"
        parts = {"changed": self.changed, "added": self.added, "removed": self.removed}
        return f"{named} ({'; '.join(f'{_listed(keys)} {word}' for word, keys in parts.items() if keys)})"


def configuration_changes(
    before: Iterable[Configuration], after: Iterable[Configuration]
) -> tuple[ConfigurationChange, ...]:
    """Return the changes, by kind and name."""
    old, new = ({(each.ref.kind, each.ref.name): each for each in side} for side in (before, after))
    return tuple(_changes(old, new))


def _changes(
    old: Mapping[tuple[str, str], Configuration], new: Mapping[tuple[str, str], Configuration]
) -> Iterator[ConfigurationChange]:
    for kind, name in sorted(old.keys() | new.keys()):
        before, after = old.get((kind, name)), new.get((kind, name))
        if before is None or after is None:
            yield ConfigurationChange(kind, name, whole="removed" if before else "added")
        elif before.ref != after.ref:
            yield _change(kind, name, entries_of(before), entries_of(after))


def _change(kind: str, name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> ConfigurationChange:
    return ConfigurationChange(
        kind,
        name,
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(key for key in before.keys() & after.keys() if before[key] != after[key])),
    )


def entries_of(configuration: Configuration) -> Mapping[str, Any]:
    """Return the content by key, in base64 where the object has that; and its type as `TYPE`."""
    content = configuration.content
    kind = {TYPE: content["type"]} if "type" in content else {}
    return {**kind, **content.get("binaryData", {}), **content.get("data", {})}


def configuration_in(content: bytes, app: AppKey) -> tuple[Configuration, ...]:
    """Return the configuration in a primary.yaml; none where it has none, or cannot be read."""
    primary = primary_with_configuration(content, app)
    return primary.configuration if primary else ()


def primary_with_configuration(content: bytes, app: AppKey) -> PrimaryFile | None:
    """Return a primary.yaml with configuration; None for any other, which is not even parsed."""
    return primary_in(content, app) if _MARK in content else None


def primary_in(content: bytes, app: AppKey) -> PrimaryFile | None:
    """Return a primary.yaml; None where it is invalid."""
    document, _ = read_one(PRIMARY_FILE, content)
    return read_primary(document, app)[0] if document else None


def _listed(keys: tuple[str, ...]) -> str:
    more = len(keys) - _MOST_KEYS
    return ", ".join(keys[:_MOST_KEYS]) + (f" and {more} more" if more > 0 else "")

"""An older version of an app as text: its content, from wherever that still exists, and the edits that bring it back
into the app's folder. Nothing is committed here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from functools import partial, reduce
from typing import Any

from gitops_bg.agent.live_views import live_copy
from gitops_bg.agent.operate.commits import CommandContext
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import CommandFailed, InvalidInput
from gitops_bg.core.foreign_json import reread_json, tag_of
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.digest import same_snapshot, snapshot_of
from gitops_bg.core.model.version import AppKey, Color, ConfigurationRef, Snapshot, Source, Stage, Version
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.main_branch import EditOrNew
from gitops_bg.spec.app.layout import APP_FILE, DEFAULT_TARGET_FILE, PRIMARY_FILE, is_manifest
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.app.primary import configuration_in, read_primary
from gitops_bg.spec.manifests.configuration import TRACKING, Configuration, Named, configuration_of, find, is_tracked
from gitops_bg.spec.manifests.edit import Piece, piece_of, set_template, with_document
from gitops_bg.spec.manifests.target import template_of
from gitops_bg.spec.yaml.reader import read_one
from gitops_bg.spec.yaml.scalars import to_yaml
from gitops_bg.views.differences import ComparedSide


def target_file(repository: Repository, app: AppKey) -> str:
    """Return the name of the target's file in the folder: the one that app.yaml names."""
    return load_from(repository, app).target_file


def load_from(repository: Repository, app: AppKey, commit: str = "") -> AppConfig:
    """Return what the files of an app say at a commit of main, whoever made them."""
    files, home = repository.files(app, commit), repository.homes([app], commit).get(app)
    return load_app(app, files, lambda *_: Source(commit), folder=repository.places.folder(app), home=home)


def version_in(content: bytes, app: AppKey, folder: str) -> Version:
    """Return the version in a former primary.yaml of main, for a rollback to one that the record has forgotten.
    ``folder`` is the app's, named in errors.
    """
    document, problems = read_one(f"{folder}/{PRIMARY_FILE}", content)
    primary = None
    if document is not None:
        primary, problems = read_primary(document, app)
    if primary is None:
        raise InvalidInput(*problems)
    began = primary.source.date or datetime.fromtimestamp(0, UTC)
    snapshot, source = primary.snapshot, primary.source
    tag = tag_of(snapshot.text)
    return Version(primary.version, snapshot, Color.BLUE, Stage.ARCHIVED, source, 0, began, tag=tag)


# --- the content of its ConfigMaps and Secrets ---
# Main's files have it for the target and the primary; for other versions the sources are the commit that brought the
# version, every primary.yaml that main ever had, and the copies that its pods read.


def side_of(context: CommandContext, facts: Facts, snapshot: Snapshot, commit: str = "") -> ComparedSide:
    """Return what a version refers to and its content; ``commit`` is the one that brought it, if that is known."""
    found: list[Configuration] = []
    places = _places(context, facts, snapshot, commit)
    while len(found) < len(snapshot.configuration) and (place := next(places, None)) is not None:
        lost = [ref for ref in snapshot.configuration if not find(found, ref)]
        found += [each for ref in lost if (each := place(ref))]
    return ComparedSide(snapshot.configuration, tuple(found))


_Place = Callable[[ConfigurationRef], Configuration | None]


def _places(context: CommandContext, facts: Facts, snapshot: Snapshot, commit: str) -> Iterator[_Place]:
    """Yield the places to look in, the cheapest first; each is opened only when it is reached."""
    yield partial(find, facts.config.configuration)
    if commit and context.repository.contains(commit):
        yield partial(find, load_from(context.repository, facts.app, commit).configuration)
    content = context.repository.find_primary(facts.app, digest=snapshot.digest)
    yield partial(find, configuration_in(content or b"", facts.app))
    yield partial(live_copy, context.cluster, facts.app)


# --- the edits ---
# If the commit that brought the version is at hand, its text is taken over with its comments; otherwise the files are
# written anew from the version.

_HELD = ("data", "binaryData", "stringData", "type")

Files = Mapping[str, bytes | Problem]


@dataclass(frozen=True, slots=True)
class Folder:
    """An app's folder now, and at the commit that brought the version; the latter is empty where that is lost."""

    app: AppKey
    path: str
    target_file: str
    now: Files
    past: Files = field(default_factory=dict)
    environment: str = ""
    """The environment, where the target is not all that its version comes from."""


def edits_back(folder: Folder, version: Version, contents: tuple[Configuration, ...]) -> dict[str, EditOrNew]:
    """Return the edits, by path, that make the target ``version`` again. Raises `CommandFailed` where a
    part is lost.
    """
    if folder.environment:
        remedy = "roll back there, or revert what changed the base or the overlay"
        message = f"the version of {folder.environment} does not come from the target alone: {remedy}"
        raise CommandFailed(f"{folder.app}: {message}")
    texts: dict[str, dict[Named, str]] = {}
    for ref in version.snapshot.configuration:
        wanted = find(contents, ref)
        if wanted is None:
            raise CommandFailed(f"{folder.app}: what {ref} of {_shown(version)} held is nowhere to be found any more")
        if not _is_there(folder, ref):
            texts.setdefault(_file_for(folder, ref), {})[ref.kind, ref.name] = _text(folder, wanted)
    edits: dict[str, EditOrNew] = {_path(folder, folder.target_file): partial(_with_template, folder, version)}
    for name, documents in texts.items():
        path = _path(folder, name)
        edit = partial(_with_documents, path, documents)
        edits[path] = edit if name in folder.now else edit(b"") or b""
    _demand(folder, version, edits)
    return edits


def _shown(version: Version) -> str:
    return version.name


def _path(folder: Folder, name: str) -> str:
    return f"{folder.path}/{name}"


# --- the template ---


def _with_template(folder: Folder, version: Version, data: bytes) -> bytes:
    """Return the target with the template as the commit wrote it; otherwise with the snapshot, which is equivalent."""
    if _says(data, version) is not None:
        return data
    path, past = _path(folder, folder.target_file), folder.past.get(folder.target_file)
    like = past if isinstance(past, bytes) else b""
    template = _says(like, version)
    if template is None:
        return set_template(data, reread_json(version.snapshot.text), path)
    return set_template(data, template, path, like)


def _says(target: bytes, version: Version) -> Mapping[str, Any] | None:
    """Return the template of a target, if it is the version's."""
    document, _ = read_one(DEFAULT_TARGET_FILE, target)
    template = template_of(document.value) if document else None
    return template if template and snapshot_of(template).text == version.snapshot.text else None


# --- ConfigMaps and Secrets ---


def _with_documents(path: str, documents: Mapping[Named, str], data: bytes) -> bytes:
    return reduce(lambda made, one: with_document(path, made, *one), documents.items(), data)


def _is_there(folder: Folder, ref: ConfigurationRef) -> bool:
    """Return whether the folder has exactly this content already."""
    found = _found(folder.now, (ref.kind, ref.name))
    return found is not None and _holds(found[1], ref)


def _holds(piece: Piece, ref: ConfigurationRef) -> bool:
    tracked = is_tracked(piece.value, frozenset({(ref.kind, ref.name)}))
    try:
        return tracked and configuration_of(ref.kind, ref.name, piece.value).ref == ref
    except ValueError:  # the present file is broken
        return False


def _file_for(folder: Folder, ref: ConfigurationRef) -> str:
    """Return the file that has the object now, or had it then; otherwise a new file for it."""
    named = (ref.kind, ref.name)
    found = _found(folder.now, named) or _found(folder.past, named)
    return found[0] if found else f"{ref.kind.lower()}-{ref.name}.yaml"


def _found(files: Files, named: Named) -> tuple[str, Piece] | None:
    for name, content in files.items():
        if isinstance(content, bytes) and is_manifest(name) and name not in (APP_FILE, PRIMARY_FILE):
            piece = piece_of(name, content, named) if named[1].encode() in content else None
            if piece is not None:
                return name, piece
    return None


def _text(folder: Folder, wanted: Configuration) -> str:
    """Return the document as its author wrote it, where it is still known; otherwise the present one with the new
    content.
    """
    named = (wanted.ref.kind, wanted.ref.name)
    past, now = _found(folder.past, named), _found(folder.now, named)
    if past and _holds(past[1], wanted.ref):
        return past[1].text
    new: dict[str, Any] = {"apiVersion": "v1", "kind": named[0], "metadata": {"name": named[1]}}
    body = _without_content(now[1].value) if now else new
    return to_yaml(body | {key: wanted.content[key] for key in _HELD if key in wanted.content})


def _without_content(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rest of the body, without the annotation that would exclude the object from the version."""
    metadata = dict(body["metadata"])
    if metadata.get("annotations"):
        metadata["annotations"] = {key: each for key, each in metadata["annotations"].items() if key not in TRACKING}
    return {**{key: each for key, each in body.items() if key not in _HELD}, "metadata": metadata}


def _demand(folder: Folder, version: Version, edits: Mapping[str, EditOrNew]) -> None:
    """Check that the folder then holds the whole version: a half-restored folder must not be committed."""
    files = dict(folder.now)
    for path, edit in edits.items():
        name = path.rpartition("/")[2]
        before = files.get(name)
        files[name] = edit if isinstance(edit, bytes) else edit(before if isinstance(before, bytes) else b"") or b""
    target = load_app(folder.app, files, lambda *_names: Source(""), folder=folder.path).target
    if target is None or not same_snapshot(target.snapshot, version.snapshot):
        others = sorted(set(target.snapshot.configuration if target else ()) - set(version.snapshot.configuration))
        why = f": it did not have {', '.join(map(str, others))} of this folder" if others else ""
        remedy = f"`git revert` of what came after commit {version.source.commit[:10]} does it"
        raise CommandFailed(f"{folder.app}: the target cannot be made {_shown(version)} again{why}; {remedy}")

"""The shapes of what verbs report that write files, or install the agent."""

from typing import Any, Literal

from pydantic import with_config
from typing_extensions import TypedDict

from gitops_bg.core.model.drift import Change
from gitops_bg.views.shapes.apps import CLOSED, ProblemJson


@with_config(CLOSED)
class FilesJson(TypedDict):
    """What `init` and `schema --dir` print."""

    directory: str
    files: list[str]


@with_config(CLOSED)
class NewFileJson(TypedDict):
    """A file, by its path in the repository."""

    path: str
    content: str


@with_config(CLOSED)
class ImportedJson(TypedDict):
    """What `import` prints."""

    apps: list[str]
    """NAMESPACE/NAME of each."""
    files: list[NewFileJson]
    listed: list[ProblemJson]
    """What has no equal, or is to be looked at: the place in what was imported, why, and what to do."""
    written: bool
    """false with --dry-run."""


@with_config(CLOSED)
class RenderedAppJson(TypedDict):
    """What was rendered for one app."""

    app: str
    """NAMESPACE/NAME."""
    changed: list[str]
    """The files that changed, or would with --dry-run."""
    listed: list[ProblemJson]
    """What was rendered and has no place in the folder."""


@with_config(CLOSED)
class RenderedJson(TypedDict):
    """What `render` prints."""

    apps: list[RenderedAppJson]
    written: bool
    """false with --dry-run."""


@with_config(CLOSED)
class AdoptedJson(TypedDict):
    """What `adopt` prints."""

    app: str
    written: bool
    files: dict[str, str]
    """The text of each file by its path."""
    plan: list[str]
    """What the agent does after the push, in order."""
    notes: list[str]


@with_config(CLOSED)
class MovedJson(TypedDict):
    """What `move` prints."""

    app: str
    to: str
    written: bool
    """false with --dry-run."""
    changed: list[str]
    """The paths of the files that have the new name in them."""
    plan: list[str]
    """What the agent does after the push, in order."""
    named: list[str]
    """Other files that name the app, and are left as they are."""


@with_config(CLOSED)
class ObjectJson(TypedDict):
    """One object of the cluster that was written to."""

    kind: str
    name: str
    change: Change


@with_config(CLOSED)
class MissingJson(TypedDict):
    """What keeps the agent from being ready."""

    message: str
    remedy: str


@with_config(CLOSED)
class InstalledJson(TypedDict):
    """What `install` prints."""

    namespace: str
    image: str
    objects: list[ObjectJson]
    ready: bool | None
    """null: nobody waited for it."""
    missing: list[MissingJson]


@with_config(CLOSED)
class ExportJson(TypedDict):
    """What `install --export` prints: what `kubectl apply` takes."""

    apiVersion: Literal["v1"]
    kind: Literal["List"]
    items: list[dict[str, Any]]


@with_config(CLOSED)
class UninstalledJson(TypedDict):
    """What `uninstall` prints."""

    namespace: str
    objects: list[ObjectJson]
    appsLeft: list[str]


@with_config(CLOSED)
class NewGroupVersionJson(TypedDict):
    """What `group new` prints."""

    group: str
    version: str
    copyOf: str
    """The version that it is a copy of."""
    files: list[str]
    """Their paths in the work tree."""

"""The files of an app under another name, for `gitops-bg move`: what is rewritten in them, and what stands in the way.

The Services keep their names, and so does everything beside the versions: only the app is called otherwise, and its
file agrees to take over from the former one (docs/decisions/0070). Reads and writes nothing.
"""

from collections.abc import Iterator, Mapping

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import APP_FILE, MANIFEST_SUFFIXES, PRIMARY_FILE, folder_of
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS
from gitops_bg.spec.yaml.edit import set_field
from gitops_bg.spec.yaml.reader import Document, read_one
from gitops_bg.spec.yaml.values import as_map

_ENDS = {
    "release": "its live traffic goes back to what it was adopted from: remove the field, or delete the folder",
    "suspend": "a suspended app takes nothing over: end the suspension first",
    "revision": "a version is pinned, by what may be known under the former name only: remove the pin first",
}
"""What an app must not have while it gets another name."""
_AIM = ("scaleTargetRef", "name")
"""Where an autoscaler names the target, in its spec."""
_ANSWERED = ("adopt", "retry", "restartAt")
"""What was asked for under the former name, and carried out."""


def in_the_way(config: AppConfig, document: Document, to: AppKey) -> Iterator[Problem]:
    """Why an app cannot get another name now, each with the place and the remedy."""
    if to.namespace != config.app.namespace:
        message = f"pods and Services of {config.app.namespace} cannot be taken over from {to.namespace}"
        remedy = (
            f"add {to} beside it with Services of its own, promote it, lead its clients and routes there, and then "
            f"delete {folder_of(config.app)}"
        )
        yield Problem(folder_of(to), message, remedy=remedy)
    yield from config.problems
    spec = as_map(as_map(document.value).get("spec"))
    yield from (document.problem(("spec", key), why) for key, why in _ENDS.items() if spec.get(key) is not None)
    if config.primary is None:
        message = "nothing of it was promoted yet"
        yield Problem(f"{folder_of(config.app)}/{PRIMARY_FILE}", message, remedy="rename the folder: nothing serves")


def moved(config: AppConfig, files: Mapping[str, bytes], to: AppKey) -> dict[str, bytes]:
    """Return the files of the folder, by name, that change with the name of the app: also autoscalers, which name the
    target. Raises `InvalidInput`.
    """
    app = set_field(files[APP_FILE], ("metadata", "name"), to.name, APP_FILE)
    spec = as_map(as_map(_read(APP_FILE, app).value).get("spec"))
    for key in _ANSWERED:
        app = set_field(app, ("spec", key), None, APP_FILE) if key in spec else app
    changed = {APP_FILE: set_field(app, ("spec", "adopt"), {"app": config.app.name}, APP_FILE)}
    for name in (config.target_file, PRIMARY_FILE):
        changed[name] = set_field(files[name], ("metadata", "name"), to.name, name)
    target = as_map(as_map(_read(config.target_file, files[config.target_file]).value).get("metadata")).get("name")
    for name in sorted(files.keys() - changed.keys()):
        if _scales(name, files[name]) == target:
            changed[name] = set_field(files[name], ("spec", *_AIM), to.name, name)
    return changed


def _scales(file: str, data: bytes) -> object:
    """The name of the target in a file with an autoscaler; None in any other one."""
    document, _ = read_one(file, data) if file.endswith(MANIFEST_SUFFIXES) else (None, ())
    value = as_map(document.value) if document is not None else {}
    if value.get("kind") not in AUTOSCALERS:
        return None
    return as_map(as_map(value.get("spec")).get(_AIM[0])).get(_AIM[1])


def _read(file: str, data: bytes) -> Document:
    document, problems = read_one(file, data)
    if document is None:
        raise InvalidInput(*problems)
    return document

"""What `plan --dump-observed` writes and `plan --observed` reads: the live side of apps, as JSON. Asks no server."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitops_bg.agent.reconcile.facts import Live
from gitops_bg.cli.errors import UsageError
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.observed import Observed
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.text.foreign_json import Limits, read_json
from gitops_bg.repo.layout import is_app
from gitops_bg.spec.codec import from_json, to_json

_FORM = "gitops-bg.dev/observed-v1"


def dump(live: Mapping[AppKey, Live], file: Path) -> None:
    """Write the observed state. Raises `UsageError` where the file cannot be written."""
    apps = {
        str(app): {"manifest": each.manifest, "record": to_json(each.record), "observed": to_json(each.observed)}
        for app, each in sorted(live.items())
    }
    try:
        file.write_text(json.dumps({"form": _FORM, "apps": apps}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--dump-observed: {file} cannot be written: {error.strerror}") from error


def load(file: Path) -> dict[AppKey, Live]:
    """Return the state that was observed when the file was written. Raises `InvalidInput`, `UsageError`."""
    try:
        data = read_json(file.read_bytes(), Limits(bytes=_LARGEST))
    except OSError as error:
        raise UsageError(f"--observed: {file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidInput(Problem(str(file), f"is no JSON: {error}", remedy=_REMEDY)) from error
    if not isinstance(data, dict) or data.get("form") != _FORM or not isinstance(data.get("apps"), dict):
        raise InvalidInput(Problem(str(file), f"is not of the form {_FORM}", remedy=_REMEDY))
    return {_key(name, file): _live(each, f"{file}: {name}") for name, each in data["apps"].items()}


_LARGEST = 1024**3
_REMEDY = "write it with `gitops-bg plan --dump-observed FILE`"


def _key(name: str, file: Path) -> AppKey:
    namespace, _, rest = name.partition("/")
    if not is_app(namespace, rest):
        raise InvalidInput(Problem(str(file), f"{name!r} is no app", remedy="name apps NAMESPACE/NAME"))
    return AppKey(namespace, rest)


def _live(data: Any, place: str) -> Live:
    if not isinstance(data, dict):
        raise InvalidInput(Problem(place, "is no object", remedy=_REMEDY))
    record = from_json(Record, data.get("record", {}), place)
    return Live(data.get("manifest"), record, from_json(Observed, data.get("observed", {}), place))

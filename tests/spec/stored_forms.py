"""What 0.1.0 stores, as files that every later release reads (`tests/fixtures/0.1.0`).

Until 0.1.0 is out, `make docs` writes them anew; from then on they stay as they are, and a release that stores
something else gets a folder of its own beside them.
"""

import argparse
import dataclasses
import json
import typing
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import count
from pathlib import Path
from typing import Any

from gitops_bg.core.groups.model import GroupState, GroupVersion, VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.record import LedgerEntry, Record
from gitops_bg.core.model.version import AppKey, Color, Source, Stage, Version
from gitops_bg.repo.ledger import ledger_file
from gitops_bg.repo.ledger.ledger_file import Position, PublishedEntry
from gitops_bg.spec.app.primary import render_primary
from gitops_bg.spec.codec import is_union, to_json

FOLDER = Path(__file__).parents[1] / "fixtures" / "0.1.0"
DEPLOY = Path(__file__).parents[2] / "deploy"
DEFINITIONS = {"bluegreendeployments.yaml": "crd.yaml", "releasegroups.yaml": "crd-releasegroups.yaml"}
"""The definitions of the kinds, and the files in `deploy/` that they were."""

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
POD = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
"""A pod template, of which the digest is stored."""


def filled(kind: Any, name: str = "", numbers: Iterator[int] | None = None, within: tuple[Any, ...] = ()) -> Any:
    """A value of a type of the core in which every field is set, each to something else."""
    numbers = numbers or count(1)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        values = {
            each.name: filled(hints[each.name], each.name, numbers, (*within, kind))
            for each in dataclasses.fields(kind)
        }
        return typing.cast(Any, kind)(**values)
    if is_union(kind):
        return _one_of(kind, name, numbers, within)
    if typing.get_origin(kind) is tuple:
        members = [each for each in typing.get_args(kind) if each is not ...]
        return () if set(members) & set(within) else tuple(filled(each, name, numbers, within) for each in members)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)[-1]
    number = next(numbers)
    simple = {str: f"{name}-{number}", int: number, float: number + 0.5, bool: True}
    return BEGINNING + timedelta(minutes=number) if kind is datetime else simple[kind]


def _one_of(kind: Any, name: str, numbers: Iterator[int], within: tuple[Any, ...]) -> Any:
    members = [each for each in typing.get_args(kind) if each is not type(None) and each not in within]
    return filled(members[-1], name, numbers, within) if members else None


def written() -> dict[str, bytes]:
    """Each file with its content."""
    record, group = filled(Record), filled(GroupRecord)
    snapshot = snapshot_of(POD)
    source = Source(commit="9be1" * 10, author="Ada <ada@example.com>", date=BEGINNING)
    version = Version(2, snapshot, Color.GREEN, Stage.ACTIVE, source, rollout=2, rollout_started_at=BEGINNING)
    position, history = Position("5eed", 99_999), (PublishedEntry("5eed", filled(LedgerEntry)),)
    stages = zip(("v1", "v2"), (VersionStage.LEGACY, VersionStage.ACTIVE), strict=True)
    versions = GroupState(tuple(GroupVersion(name, stage, BEGINNING) for name, stage in stages))
    return {
        "record.json": _json(to_json(record)),
        "group-record.json": _json(to_json(group)),
        "ledger.json": ledger_file.render(ledger_file.LedgerDocument(ledger_file.state_of(record), position, history)),
        "group-ledger.json": ledger_file.render(
            ledger_file.LedgerDocument(ledger_file.state_of(replace(group, state=versions)), position, history)
        ),
        "primary.yaml": render_primary(AppKey("shop", "web"), version).encode(),
        "digests.json": _json({snapshot.digest: POD}),
        **{name: (DEPLOY / file).read_bytes() for name, file in DEFINITIONS.items()},
    }


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    for name, content in written().items():
        (FOLDER / name).write_bytes(content)


if __name__ == "__main__":
    main()

"""Thousands of converged apps from one that an agent has converged: its objects, copied under other names. Pure.

What differs between two apps of the measurements is their namespace, their name, and their digest; ids of objects
are made anew. The result is what the agent would have made, without the minutes that it would take.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_bg.cluster.manifests.stored_record import RECORD, packed, unpacked
from gitops_bg.core.model.version import short
from tests.bench.apps import BenchApp

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Stamp:
    """Turns texts about one app into texts about another."""

    model: BenchApp
    app: BenchApp
    ids: Mapping[str, str] = field(default_factory=dict)
    """What the two have beside names: the model's id of its folder in Git and of its namespace, to the app's."""

    def text(self, text: str) -> str:
        """The same about the other app."""
        for before, after in (
            (self.model.digest, self.app.digest),
            (short(self.model.digest), short(self.app.digest)),
            (self.model.namespace, self.app.namespace),
            (self.model.name, self.app.name),
            *self.ids.items(),
        ):
            text = text.replace(before, after)
        return text

    def objects(self, models: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Copies of all live objects of the model, given as JSON, with ids of their own, equal where theirs are."""
        ids = {kept: kept for kept in self.ids.values()}

        def renewed(found: re.Match[str]) -> str:
            return ids.setdefault(found[0], str(uuid.uuid4()))

        for model in models:
            yield _with_record(json.loads(_UID.sub(renewed, self.text(_with_plain_record(model)))))


def _with_plain_record(model: str) -> str:
    """An object as JSON, in which names and ids can be replaced: a packed record says none."""
    body = json.loads(model)
    status = body.get("status") or {}
    if RECORD in status:
        body["status"] = {**status, RECORD: unpacked(status)}
    return json.dumps(body)


def _with_record(stamped: dict[str, Any]) -> dict[str, Any]:
    """With its record as a status stores it, where it has one."""
    status = stamped.get("status") or {}
    if RECORD in status:
        stamped["status"] = {**status, RECORD: packed(status[RECORD])}
    return stamped


def is_about(model: BenchApp, text: str) -> bool:
    """Whether an object, as JSON, is one of the model's."""
    return re.search(rf"\b{model.name}\b", text) is not None

"""The version in the sandbox's bookmarks: never less than a watch has delivered already (`cache_watcher.go`)."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from gitops_bg.sandbox.http.calls import Call
from gitops_bg.sandbox.objects.store import Store
from gitops_bg.sandbox.verbs import reading

KIND: Any = SimpleNamespace(key=("", "pods"), kind="Pod", api_version="v1")


def test_no_bookmark_is_older_than_a_change_that_was_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    store.begin(KIND.key)
    monkeypatch.setattr(reading, "_HEARTBEAT", 0.0)
    call = Call("watch", "/api/v1/pods", params={"allowWatchBookmarks": "true"})
    watch = store.watch(KIND.key, "", None, None)
    sound = watch.next_events

    def takes(timeout: float) -> Any:
        """A write comes between the look at the version and the look at what is new."""
        store.put(KIND.key, {"metadata": {"namespace": "a", "name": f"p{store.version}"}})
        return sound(timeout)

    monkeypatch.setattr(type(watch), "next_events", lambda _, timeout: takes(timeout))
    lines = reading.watch_lines(store, KIND, call, watch, lambda change: json.dumps(change.current.obj).encode())
    told = b"".join(next(lines) for _ in range(10)).splitlines()
    versions = [int(json.loads(line)["object"]["metadata"]["resourceVersion"]) for line in told]
    assert len(versions) == 10
    assert versions == sorted(versions)

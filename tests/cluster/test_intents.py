"""A change of somebody else is told from one of Git's, and from what an admission webhook makes of every write."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.cluster.api.kinds import APPS, SECRETS, SERVICES
from gitops_bg.cluster.execution.writer import Intents
from gitops_bg.cluster.observation.drift import ChangedField
from gitops_bg.core.model.drift import ADMISSION

Json = dict[str, Any]


def service(selector: str = "v1", *, owner: str = "", **metadata: Any) -> Json:
    """A Service; ``owner`` is the field manager of its selector."""
    fields = [{"manager": owner, "time": "2026-01-01T12:00:00Z", "fieldsV1": {"f:spec": {"f:selector": {}}}}]
    head = {"name": "web", "namespace": "shop", "labels": {"gitops-bg.dev/app": "web"}, **metadata}
    live = {"managedFields": fields} if owner else {}
    return {"kind": "Service", "metadata": {**head, **live}, "spec": {"selector": {"version": selector}}}


def drift(intents: Intents, live: Json | None, manifest: Json) -> str | None:
    found = intents.drift(SERVICES, live, manifest)
    return None if found is None else str(found)


CHANGED = "spec.selector: {version: v2} → {version: v1}"
AS_WRITTEN, CHANGED_BY = service(), service("v2", owner="kubectl-edit")
FOUND: dict[str, tuple[Json | None, Json | None, Json, str | None]] = {
    # what was applied before, what is live, what is to be applied
    "nothing differs": (AS_WRITTEN, AS_WRITTEN, AS_WRITTEN, None),
    "another manager has it": (AS_WRITTEN, CHANGED_BY, AS_WRITTEN, f"kubectl-edit changed {CHANGED}"),
    "so has it after a restart": (None, CHANGED_BY, AS_WRITTEN, f"kubectl-edit changed {CHANGED}"),
    "nobody has it, and it was applied so": (AS_WRITTEN, service("v2"), AS_WRITTEN, f"somebody changed {CHANGED}"),
    "Git says something else": (service("v2"), service("v2", owner="gitops-bg"), AS_WRITTEN, None),
    "nobody knows what was applied": (None, service("v2"), AS_WRITTEN, None),
    "it is gone": (service("v2"), None, AS_WRITTEN, "somebody deleted it"),
    "it was never there": (None, None, AS_WRITTEN, None),
    "the lock of a write is no part of it": (
        service(resourceVersion="7"), service("v2"), AS_WRITTEN, f"somebody changed {CHANGED}"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "live", "manifest", "said"), FOUND.values(), ids=FOUND)
def test_what_somebody_else_changed(before: Json | None, live: Json | None, manifest: Json, said: str | None) -> None:
    intents = Intents()
    if before is not None:
        intents.applied(SERVICES, before, before)
    assert drift(intents, live, manifest) == said


def test_what_the_server_stores_differently_each_time_is_an_admission_webhook() -> None:
    intents = Intents()
    assert drift(intents, None, AS_WRITTEN) is None
    intents.applied(SERVICES, AS_WRITTEN, service("v2"))
    assert drift(intents, service("v2"), AS_WRITTEN) == f"{ADMISSION} changed {CHANGED}"


def test_what_the_server_stores_differently_is_not_said_beside_what_somebody_changed() -> None:
    intents = Intents()
    intents.applied(SERVICES, AS_WRITTEN, service("v2"))
    live = service("v2", labels={})
    assert drift(intents, live, AS_WRITTEN) == 'somebody changed metadata.labels["gitops-bg.dev/app"]: + web'


def test_what_the_agent_deletes_itself_was_deleted_by_nobody() -> None:
    intents = Intents()
    for forget in (
        lambda: intents.forget(SERVICES, "shop", "web"),
        lambda: intents.forget_app("shop", "web"),
    ):
        intents.applied(SERVICES, AS_WRITTEN, AS_WRITTEN)
        forget()
        assert drift(intents, None, AS_WRITTEN) is None
    intents.applied(SERVICES, AS_WRITTEN, AS_WRITTEN)
    intents.forget_app("shop", "other")
    assert drift(intents, None, AS_WRITTEN) == "somebody deleted it"


def test_a_service_that_the_agent_moved_itself_is_not_as_it_was_applied() -> None:
    intents = Intents()
    intents.applied(SERVICES, AS_WRITTEN, AS_WRITTEN)
    moved = ChangedField(("spec", "selector"), {"version": "v1"}, {"version": "v2"})
    intents.wrote(SERVICES, "shop", "web", moved)
    assert drift(intents, service("v2"), AS_WRITTEN) is None
    back = ChangedField(("spec", "selector"), {"version": "v3"}, {"version": "v2"})
    said = intents.drift_of(SERVICES, service("v3"), back)
    assert str(said) == "somebody changed spec.selector: {version: v3} → {version: v2}"
    other = ChangedField(("spec", "selector"), {"version": "v3"}, {"version": "v1"})
    assert intents.drift_of(SERVICES, service("v3"), other) is None


MINE = {
    # whether this process moved it, what it finds now, who else owns it, whether that is as it wrote it
    "as it wrote it": (True, "v2", (), True),
    "somebody moved it": (True, "v3", ("kubectl-edit",), False),
    "somebody moved it, and nobody says who": (True, "v3", (), False),
    "after a restart, nobody else": (False, "v2", (), True),
    "after a restart, somebody": (False, "v2", ("kubectl-edit",), False),
}


@pytest.mark.parametrize(("moved", "found", "others", "mine"), MINE.values(), ids=MINE)
def test_what_is_found_is_as_this_process_wrote_it(
    moved: bool, found: str, others: tuple[str, ...], mine: bool
) -> None:
    intents, at = Intents(), ("spec", "selector")
    if moved:
        intents.wrote(SERVICES, "shop", "web", ChangedField(at, {"version": "v1"}, {"version": "v2"}))
    field = ChangedField(at, {"version": found}, {"version": "v4"})
    assert intents.is_ours(SERVICES, "shop", "web", field, others) is mine


SECRETS_OF: dict[str, tuple[Json, Json, str]] = {
    "data": ({"data": {"pin": "aHVudGVyMg=="}}, {"data": {"pin": "b3RoZXI="}}, "data.pin"),
    "texts": ({"stringData": {"pin": "hunter2"}}, {"stringData": {"pin": "other"}}, "stringData.pin"),
    "a key more": ({"data": {"pin": "aHVudGVyMg=="}}, {"data": {}}, "data.pin"),
}


@pytest.mark.parametrize(("live", "wanted", "field"), SECRETS_OF.values(), ids=SECRETS_OF)
def test_no_value_of_a_secret_is_said(live: Json, wanted: Json, field: str) -> None:
    head = {"kind": "Secret", "metadata": {"name": "keys", "namespace": "shop"}}
    intents = Intents()
    intents.applied(SECRETS, head | wanted, head | wanted)
    assert str(intents.drift(SECRETS, head | live, head | wanted)) == f"somebody changed {field}"


def test_what_somebody_wrote_stays_on_one_line_and_within_a_bound() -> None:
    intents = Intents()
    head = {"kind": "BlueGreenDeployment", "metadata": {"name": "web", "namespace": "shop"}}
    intents.applied(APPS, head | {"spec": {"a": "b"}}, head | {"spec": {"a": "b"}})
    found = intents.drift(APPS, head | {"spec": {"a": "x\n\u202e" + 9999 * "y"}}, head | {"spec": {"a": "b"}})
    assert str(found).isprintable()
    assert len(str(found)) < 300

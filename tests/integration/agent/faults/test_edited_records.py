"""Whatever somebody edits in the record of an app: the app comes back by itself, with one ledger entry a movement."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.cluster.manifests.stored_record import packed, unpacked
from gitops_bg.cluster.status import record_in
from gitops_bg.core import names
from gitops_bg.core.foreign_json import sorted_json
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.record import Record
from gitops_bg.spec.codec import to_json
from tests.core.simulation import MOVES, Simulation, automatic, deployed, manual
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.rawapi import ApiError
from tests.support.scenario import App, scenario

Path_ = tuple[str | int, ...]


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The places of all values that are no map and no list; and of all lists."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        yield path
        for place, item in enumerate(value):
            yield from leaves(item, (*path, place))
    else:
        yield path


def at(value: Any, path: Path_) -> Any:
    for part in path:
        value = value[part]
    return value


def edits(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each value of a record made something else, in each of the ways that people and tools find."""
    digests = [each["snapshot"]["digest"] for each in record["versions"]]
    for path in leaves(record):
        before = at(record, path)
        others: list[Any] = [None, "garbage", 7, [], {}]
        if isinstance(before, str):
            others += [before[:-1] + ("0" if before[-1:] != "0" else "1"), *digests]
        if isinstance(before, bool):
            others += [not before]
        if isinstance(before, list):
            others += [before[:-1], before + before]
        for other in others:
            if other == before:
                continue
            changed = deepcopy(record)
            at(changed, path[:-1])[path[-1]] = other
            yield f"{'.'.join(map(str, path))}={other!r}"[:80], changed
        gone = deepcopy(record)
        del at(gone, path[:-1])[path[-1]]
        yield f"{'.'.join(map(str, path))} is gone", gone


def waiting() -> Simulation:
    sim = deployed(manual())
    sim.push("2")
    sim.settle()
    return sim


def promoted() -> Simulation:
    sim = waiting()
    sim.merge()
    sim.settle()
    return sim


def rolled_back() -> Simulation:
    sim = promoted()
    sim.revert_promotion()
    sim.settle()
    return sim


def switching() -> Simulation:
    """The switch is in the record, and not at the Service yet."""
    sim = waiting()
    sim.merge()
    while sim.record.routing.switch is None:
        sim.step()
        sim.pods_come_up()
    return sim


def on_its_own() -> Simulation:
    sim = deployed(automatic())
    sim.push("2")
    sim.settle()
    return sim


@pytest.mark.parametrize("begun", [waiting, promoted, rolled_back, switching, on_its_own])
def test_every_edit_of_every_value_of_a_record_is_noticed(begun: Any) -> None:
    record = to_json(begun().record)
    stored = packed(record)
    assert record_in({"record": stored}) == begun().record
    count = 0
    for what, changed in edits(record):
        assert record_in({"record": under_the_seal(stored, changed)}) == Record(), what
        count += 1
    assert count > 300


def under_the_seal(stored: str, changed: Any) -> str:
    """A stored record with another content, and the seal of before."""
    return f"{stored.partition('.')[0]}.{packed(changed).partition('.')[2]}"


OTHER = ("0" * 16 + ".", ".", "", "x", "5eed.!!", f"{'0' * 16}.eNo=")


def test_every_edit_of_the_text_that_stores_a_record_is_noticed() -> None:
    stored = packed(to_json(deployed(manual()).record))
    cut = (stored[:end] for end in range(len(stored)))
    changed = (
        f"{stored[:place]}{'A' if stored[place] != 'A' else 'B'}{stored[place + 1 :]}" for place in range(len(stored))
    )
    for text in (*cut, *changed, *OTHER, stored + "A", stored + stored, f" {stored}", 7, {}, [stored]):
        assert unpacked({"record": text}) is None, text


def test_a_record_that_unpacks_to_too_much_is_none() -> None:
    bomb = b64encode(zlib.compress(b" " * 2**25 + b"{}")).decode()
    assert unpacked({"record": f"{'0' * 16}.{bomb}"}) is None


def test_another_packing_of_the_same_content_stays_as_it_is() -> None:
    record = to_json(deployed(manual()).record)
    seal = packed(record).partition(".")[0]
    stored = f"{seal}.{b64encode(zlib.compress(sorted_json(record), 1)).decode()}"
    assert stored != packed(record)
    assert unpacked({"record": stored}) == record
    assert packed(record, {"record": stored}) == stored
    assert packed({**record, "epoch": "e2"}, {"record": stored}) != stored


def remembered(sim: Simulation) -> LedgerMemory:
    """What the state branch says, where it has all that the record had to tell."""
    record = sim.record
    return LedgerMemory(
        rollout=record.rollout,
        last_version=record.last_version,
        active_digests=record.routing.activations,
        statements=record.statements,
        numbers=tuple((each.digest, each.number) for each in record.versions),
        primary_by=record.git.primary_by,
        serving=record.routing.traffic,
    )


@pytest.mark.parametrize("begun", [waiting, promoted, rolled_back, switching, on_its_own])
def test_an_app_whose_record_counts_as_lost_goes_on_as_main_says_with_one_entry_a_movement(begun: Any) -> None:
    sim = begun()
    sim.ledger.extend(entry for entry in sim.record.ledger if entry not in sim.ledger)
    wanted = sim.primary
    sim.memory = remembered(sim)
    sim.record = Record()
    sim.settle()
    assert sim.live == wanted
    moved = [move for move in sim.moves if move[1]]  # One that the record had to tell yet is lost with it.
    assert sim.recorded_moves() == (moved[:-1] if begun is switching else moved), sim.events()
    sim.push("3")
    sim.settle()
    if sim.branch:
        sim.merge()
        sim.settle()
    assert sim.live == "3"
    assert [entry.event for entry in sim.entries() if entry.event in MOVES][-1] == "promoted"


@pytest.fixture
def web(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[App]:
    """v2 is live, v1 warm, v3 offered."""
    with scenario(sandbox_cluster, tmp_path) as made:
        made.start()
        app = made.app().deploy("v1")
        app.promote("v2")
        app.push_image("v3")
        app.wait_offered("v3")
        app.wait_told()
        made.settle()
        yield app


def _edited(app: App, record: Any) -> None:
    """Write a record as `kubectl edit --subresource=status` does."""
    path = f"/apis/{names.API_VERSION}/namespaces/{app.key.namespace}/{names.PLURAL}/{app.name}"
    while True:
        body = app.object()
        body["status"]["record"] = record
        try:
            app.scenario.cluster.request("PUT", f"{path}/status", body)
        except ApiError as error:
            if error.status != 409:
                raise
            continue
        return


def _as_it_was(app: App) -> bool:
    record = app.record
    return bool(record.epoch) and app.phase() == "AwaitingPromotion" and record.routing.traffic == app.digest("v2")


def test_an_agent_brings_an_app_back_whatever_was_edited(web: App) -> None:
    world, before = web.scenario, web.ledger_events()
    stored = web.status["record"]
    record = unpacked(web.status)
    assert record
    genuine = {web.digest(tag) for tag in ("v1", "v2", "v3")}
    forged = "v1:" + "0" * 64
    edited = [(what, under_the_seal(stored, changed)) for what, changed in edits(record)]
    some = edited[:: max(1, len(edited) // 20)]
    traffic = under_the_seal(stored, {**record, "routing": {**record["routing"], "traffic": web.digest("v1")}})
    versions = deepcopy(record)
    for each in versions["versions"]:
        each["snapshot"]["digest"] = forged
    forgery = under_the_seal(stored, versions)
    for what, changed in (("v1 carries traffic", traffic), ("a forged digest", forgery), ("no record", "x"), *some):
        web.wait(lambda: _as_it_was(web), f"it is as it was, before {what}")
        _edited(web, changed)
        world.advance(0)
        web.wait(lambda: unpacked(web.status) is not None and _as_it_was(web), f"it comes back after {what}")
        assert web.live_tag() == "v2", what
        assert {each.digest for each in web.record.versions} <= genuine, what
        assert web.condition("InternalError")["status"] == "Absent", what
    world.settle()
    moves = [str(each) for each in MOVES]
    told = [event for event in web.ledger_events() if event in moves]
    assert told == [event for event in before if event in moves]
    assert any(each["reason"] == "RecordMadeAnew" for each in world.events())
    web.merge_offer()
    web.wait_live("v3")
    web.wait_told("promoted", 2)

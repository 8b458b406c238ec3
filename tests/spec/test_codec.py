"""The core's types as JSON: a round trip loses nothing, and an error names what does not fit."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.actions import ScaleReplicaSet
from gitops_bg.core.model.analysis import (
    Analyses,
    AnalysisPhase,
    AnalysisRun,
    AnalysisStage,
    MeasurementPlan,
    MeasurementResult,
    Metric,
    begin,
    id_of,
    with_measurement,
)
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Decision, GateResult
from gitops_bg.core.model.desired import Desired, LedgerMemory
from gitops_bg.core.model.observed import Observed
from gitops_bg.core.model.policy_facts import PolicyInput
from gitops_bg.core.model.record import Event, LedgerEntry, Record
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import AppKey, Color, Snapshot, Source, Stage, Version
from gitops_bg.spec.codec import encoded_schema, from_json, to_json

st.register_type_strategy(datetime, st.datetimes(datetime(1900, 1, 1), datetime(9000, 12, 31), timezones=st.just(UTC)))


for module in [each for name, each in sys.modules.items() if name.startswith("gitops_bg.core.")]:
    for declared in filter(dataclasses.is_dataclass, vars(module).values()):
        if isinstance(declared, type):
            with contextlib.suppress(TypeError):
                declared(*range(99))  # its first call compiles its signature, from which it is drawn
st.register_type_strategy(PolicyInput, st.just(PolicyInput()))  # programs and zones cannot be drawn, and are in no file

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_an_entry_of_the_ledger_is_read_by_a_release_that_knows_no_image_tags_and_read_of_one() -> None:
    entry = LedgerEntry(1, NOW, Event.PROMOTED, from_version=1, to_version=2, from_tag="1.0.0", to_tag="1.1.0")
    known = [each for each in dataclasses.fields(LedgerEntry) if not each.name.endswith("_tag")]
    former = dataclasses.make_dataclass("Former", [(each.name, each.type, each) for each in known], frozen=True)
    read = from_json(former, to_json(entry))
    assert (read.sequence, read.to_version) == (1, 2)  # type: ignore[attr-defined]
    assert from_json(LedgerEntry, to_json(read)) == replace(entry, from_tag="", to_tag="")


@pytest.mark.parametrize("kind", [Record, Observed, Decision, Desired, AppSpec])
@settings(max_examples=30)
@given(st.data())
def test_a_round_trip_loses_nothing(kind: type[Any], data: st.DataObject) -> None:
    value = data.draw(st.from_type(kind))
    if isinstance(value, Desired):
        value = replace(value, policing=None)
    if isinstance(value, Decision):
        value = replace(value, events=())  # told as they happen, and in no file
    encoded = json.loads(json.dumps(to_json(value)))
    assert from_json(kind, encoded) == value
    assert list(_validator(kind).iter_errors(encoded)) == []


@cache
def _validator(kind: type[Any]) -> Draft202012Validator:
    return Draft202012Validator(encoded_schema(kind))


def test_a_schema_refuses_what_the_codec_never_writes() -> None:
    written = to_json(GateResult("pause", False, "waits", NOW))
    assert _validator(GateResult).is_valid(written)
    wrong = (written | {"open": "no"}, written | {"fast": True}, {"kind": "pause", "open": False}, [])
    assert [_validator(GateResult).is_valid(each) for each in wrong] == [False] * 4


def test_a_status_is_small() -> None:
    assert to_json(Record()) == {}
    version = Version(1, Snapshot("v1:3f", "{}"), Color.BLUE, Stage.ACTIVE, Source("9be1"), 1, NOW)
    assert to_json(Record(last_version=1, versions=(version,))) == {
        "lastVersion": 1,
        "versions": [
            {
                "number": 1,
                "snapshot": {"digest": "v1:3f", "text": "{}"},
                "color": "blue",
                "stage": "active",
                "source": {"commit": "9be1"},
                "rollout": 1,
                "rolloutStartedAt": "2026-03-01T12:00:00Z",
            }
        ],
    }


def test_actions_carry_their_name() -> None:
    decision = Decision((ScaleReplicaSet("v1:3f", 1, 0, 2, "why"),), Record(), Phase.HEALTHY)
    assert to_json(decision)["actions"] == [
        {"action": "ScaleReplicaSet", "digest": "v1:3f", "number": 1, "current": 0, "replicas": 2, "reason": "why"}
    ]


def test_times_are_utc() -> None:
    source = Source("c", date=datetime(2026, 3, 1, 13, 0, 0, 5, tzinfo=timezone(timedelta(hours=1))))
    assert to_json(source)["date"] == "2026-03-01T12:00:00.000005Z"
    with pytest.raises(ValueError, match="without a zone"):
        to_json(Source("c", date=datetime(2026, 3, 1)))


def test_a_key_of_a_newer_release_is_ignored_and_a_null_is_nothing() -> None:
    assert from_json(Record, {"rollout": 2, "train": "friday", "switch": None}) == Record(rollout=2)


VERSION = to_json(Version(1, Snapshot("v1:3f", "{}"), Color.BLUE, Stage.ACTIVE, Source("9be1"), 1, NOW))

# (type, JSON): the complaint
WRONG: list[tuple[type[Any], Any, str]] = [
    (Record, [], "Record: expected a mapping, found a list"),
    (Record, {"rollout": "1"}, "Record: rollout: expected a number, found text"),
    (Record, {"rollout": True}, "Record: rollout: expected a number, found a truth value"),
    (Record, {"versions": {}}, "Record: versions: expected a list, found a mapping"),
    (
        Record,
        {"versions": [VERSION, {**VERSION, "color": "red"}]},
        "Record: versions[1].color: 'red' is none of blue, green",
    ),
    (Record, {"versions": [{**VERSION, "color": []}]}, "Record: versions[0].color: [] is none of blue, green"),
    (
        Record,
        {"versions": [{**VERSION, "rolloutStartedAt": 5}]},
        "Record: versions[0].rolloutStartedAt: expected a time",
    ),
    (Record, {"versions": [{**VERSION, "rolloutStartedAt": "2026-03-01T12:00:00"}]}, "the time has no zone"),
    (Record, {"versions": [{**VERSION, "rolloutStartedAt": "9999-12-31T23:59:59Z"}]}, "of the years 1900 to 9000"),
    (AppKey, {"namespace": "shop"}, "AppKey: name is required"),
    (
        Decision,
        {"actions": [{"action": "Explode"}]},
        "Decision: actions[0]: action must be one of ApplyApp, DeleteApp,",
    ),
    (Decision, {"actions": [7]}, "Decision: actions[0]: action must be one of ApplyApp,"),
    (
        Observed,
        {"activeService": {"name": "web", "digest": "", "selector": [["a"]]}},
        "Observed: activeService.selector[0]: expected 2 items, found 1",
    ),
    (LedgerMemory, {"numbers": [["v1:3f", "1"]]}, "LedgerMemory: numbers[0][1]: expected a number, found text"),
]


@pytest.mark.parametrize(("kind", "data", "complaint"), WRONG, ids=[case[2] for case in WRONG])
def test_what_does_not_fit_is_named(kind: type[Any], data: Any, complaint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        from_json(kind, data)
    assert complaint in str(caught.value)


def test_the_file_is_named_where_there_is_one() -> None:
    with pytest.raises(InvalidInput, match=r"^observed.json: appUid: expected text, found a number$"):
        from_json(Observed, {"appUid": 5}, "observed.json")


def test_what_only_people_read_is_not_stored() -> None:
    gate = GateResult("manual", False, "closed", remedy="gitops-bg gate open web")
    assert to_json(gate) == {"kind": "manual", "open": False, "reason": "closed"}


def test_an_analysis_run_survives_a_restart() -> None:
    plan = MeasurementPlan((Metric("errors", "prometheus", '{"query":"up"}', "result < 1", interval=30, count=3),))
    run = begin(AnalysisRun(AnalysisStage.POST, "v1:3f", 7, fallback="v1:2e"), plan, "3f", "2e", NOW)
    run = with_measurement(
        run, "5eed", MeasurementResult(id_of(run, "5eed", run.metrics[0]), AnalysisPhase.SUCCESSFUL, NOW, "0.5")
    )
    written = json.loads(json.dumps(to_json(Record(analyses=Analyses(runs=(run,))))))
    assert from_json(Record, written).analyses.runs == (run,)
    assert written["analyses"]["runs"][0]["metrics"][0]["measurements"] == [
        {"phase": "Successful", "at": "2026-03-01T12:00:00Z", "value": "0.5"}
    ]

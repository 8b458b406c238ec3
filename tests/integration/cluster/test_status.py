"""The record survives; its visible part is right; nobody's write is overwritten; an unchanged status is not written."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.events import EventSink, KubernetesEvent
from gitops_bg.cluster.execution.operator_requests import MOST
from gitops_bg.cluster.status import differs_in_process_view_only
from gitops_bg.core import names
from gitops_bg.core.delivery.subject import TOO_OLD
from gitops_bg.core.errors import Refused, WorldChanged
from gitops_bg.core.model.actions import ApplyApp
from gitops_bg.core.model.analysis import (
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
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.decision import Counts, Decision, GateKind, GateResult, NamedInMain, Wait
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Event, LedgerEntry, Record, Rollout, RolloutOutcome, Routing
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import Color, Source, Stage, Version, short
from tests.core.records import statements_of
from tests.integration.cluster.scene import Scene, snapshot, watching
from tests.support.cluster.clusters import DEPLOY, SandboxCluster
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import MERGE
from tests.support.waiting import eventually

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def version(number: int, stage: Stage) -> Version:
    color = Color.BLUE if number % 2 else Color.GREEN
    return Version(number, snapshot(f"v{number}"), color, stage, Source(f"c{number}"), number, NOW)


RECORD = Record(
    epoch="e1",
    sequence=4,
    versions=(version(6, Stage.ACTIVE), version(7, Stage.CANDIDATE)),
    routing=Routing(traffic=snapshot("v6").digest),
    statements=statements_of(Hold("v1:dead", "it burned", NOW)),
    rollouts=(
        Rollout(5, 5, snapshot("v5").digest, NOW, finished_at=NOW, outcome=RolloutOutcome.ABORTED),
        Rollout(
            6, 6, snapshot("v6").digest, NOW, waited_seconds=90, finished_at=LATER, outcome=RolloutOutcome.PROMOTED
        ),
        Rollout(7, 7, snapshot("v7").digest, NOW, waiting_since=LATER),
    ),
    ledger=(LedgerEntry(4, NOW, Event.CANDIDATE, to_version=7),),
)
DECISION = Decision(
    (),
    RECORD,
    Phase.AWAITING_PROMOTION,
    (
        Condition("Available", True, "Serving", "live traffic goes to v6"),
        Condition("OnHold", False, "None", ""),
        Condition("Progressing", None, "RolloutPaused", ""),
    ),
    (GateResult(GateKind.APPROVAL, False, "nobody merged yet", LATER), GateResult(GateKind.PAUSE, True, "over")),
    waits=(Wait("approval", 7, "nobody merged yet", LATER),),
    counts=Counts(desired=3, current=5, updated=2, ready=3, available=1),
    target=NamedInMain("d7", "c7"),
    primary=NamedInMain("d6", "p6"),
)


def status(scene: Scene) -> dict[str, object]:
    found: dict[str, object] = scene.live(names.PLURAL, "web")["status"]
    return found


def test_the_rollout_under_way_and_the_last_that_ended_are_shown(scene: Scene) -> None:
    scene.do(ApplyApp())
    scene.subject.save(scene.app, DECISION, NOW)
    began, later = "2026-05-04T12:00:00Z", "2026-05-04T13:00:00Z"
    first, second = snapshot("v6").digest, snapshot("v7").digest
    promoted = {"waitedSeconds": 90, "finishedAt": later, "outcome": "Promoted"}
    under_way = {"waitedSeconds": 0, "waitingSince": later}
    assert status(scene)["rollouts"] == [
        {"number": 7, "version": 7, "digest": second, "startedAt": began, **under_way},
        {"number": 6, "version": 6, "digest": first, "startedAt": began, **promoted},
    ]


def test_analysis_runs_are_shown_with_their_counts_and_last_answers(scene: Scene) -> None:
    errors = Metric("errors", "web", '{"url":"http://web"}', interval=30, count=3, failure_limit=1)
    plan = MeasurementPlan((errors, replace(errors, name="dry", dry_run=True)), labels=(("team", "blue"),))
    run = begin(AnalysisRun(AnalysisStage.PRE, snapshot("v7").digest, 7, attempt=2), plan, "new", "old", NOW)
    run = with_measurement(
        run,
        "e1",
        MeasurementResult(id_of(run, "e1", run.metrics[0]), AnalysisPhase.FAILED, LATER, "0.5", "0.5 is not < 0.1"),
    )
    scene.do(ApplyApp())
    scene.subject.save(
        scene.app, replace(DECISION, record=RECORD.with_part(replace(RECORD.analyses, runs=(run,)))), NOW
    )
    none = {"count": 3, "successful": 0, "failed": 0, "inconclusive": 0, "error": 0}
    answer = {"value": "0.5", "message": "0.5 is not < 0.1", "measuredAt": "2026-05-04T13:00:00Z"}
    assert status(scene)["analysisRuns"] == [
        {
            "stage": "pre",
            "version": 7,
            "rollout": 7,
            "attempt": 2,
            "phase": "Running",
            "startedAt": "2026-05-04T12:00:00Z",
            "labels": {"team": "blue"},
            "metrics": [
                {"name": "errors", "phase": "Running", **none, "failed": 1, **answer},
                {"name": "dry", "phase": "Running", **none, "dryRun": True},
            ],
        }
    ]
    assert scene.subject.record(scene.app).analyses.runs == (run,)


def test_what_is_shown_of_runs_that_are_over_is_kept_by_the_server(scene: Scene) -> None:
    """A field that the schema did not have would be pruned, and written again with every look."""
    errors = Metric("errors", "web", '{"url":"http://web"}', interval=30, count=3)
    plan = MeasurementPlan((errors, replace(errors, name="slow")), annotations=(("why", "because"),))
    first = begin(AnalysisRun(AnalysisStage.PRE, snapshot("v6").digest, 6), plan, "new", "old", NOW)
    first = with_measurement(
        first, "e1", MeasurementResult(id_of(first, "e1", first.metrics[0]), AnalysisPhase.FAILED, LATER, "0.5")
    )
    last = replace(first, rollout=7, digest=snapshot("v7").digest)
    decision = replace(
        DECISION,
        record=RECORD.with_part(replace(RECORD.analyses, runs=(last,), past=(first,))),
    )
    scene.do(ApplyApp())
    assert scene.subject.save(scene.app, decision, NOW)
    scene.until(lambda _: scene.subject.record(scene.app).analyses.past == (first,))
    assert not scene.subject.save(scene.app, decision, NOW)
    shown = status(scene)["analysisRuns"]
    assert isinstance(shown, list)
    assert [(run["rollout"], run["phase"]) for run in shown] == [(7, "Failed"), (6, "Failed")]
    assert [metric.get("terminated") for metric in shown[1]["metrics"]] == [None, True]


def test_what_an_older_definition_drops_is_written_and_told_once(
    own_sandbox: SandboxCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever brings the agent up to date before its CustomResourceDefinition gets no storm of writes."""
    older = yaml.safe_load((DEPLOY / "crd.yaml").read_text())
    del older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["waits"]
    own_sandbox.install_crd(older)
    with watching(own_sandbox, own_sandbox.namespace()) as scene:
        scene.do(ApplyApp())
        assert scene.subject.save(scene.app, DECISION, NOW)
        assert not scene.subject.save(scene.app, DECISION, LATER)
        assert "waits" not in status(scene)
        assert scene.subject.save(scene.app, replace(DECISION, phase=Phase.HELD), LATER), "what is new is written"
        assert not scene.subject.save(scene.app, replace(DECISION, phase=Phase.HELD), LATER)
    [said] = [record.getMessage() for record in caplog.records if "API server does not keep" in record.getMessage()]
    assert "does not keep status.waits: the CustomResourceDefinition is not that of this agent" in said


def test_the_record_comes_back_as_it_was(scene: Scene) -> None:
    scene.do(ApplyApp())
    assert scene.subject.record(scene.app) == Record()
    assert scene.subject.save(scene.app, DECISION, NOW)
    assert scene.subject.record(scene.app) == RECORD, "at once, from our own write"
    scene.until(lambda _: scene.subject.record(scene.app) == RECORD)


@pytest.mark.parametrize(
    ("phase", "condition"),
    [
        (Phase.INVALID, "InvalidSpec"),
        (Phase.SUSPENDED, "Suspended"),
        (Phase.DEGRADED, "Healthy"),
        (Phase.HELD, "OnHold"),
    ],
)
def test_the_sentence_beside_a_phase_is_that_of_the_condition_it_comes_from(
    scene: Scene, phase: Phase, condition: str
) -> None:
    scene.do(ApplyApp())
    why = Condition(condition, True, "Reason", f"why it is {phase}")
    scene.subject.save(scene.app, replace(DECISION, phase=phase, conditions=(DECISION.conditions[0], why)), NOW)
    assert status(scene)["message"] == f"why it is {phase}"


def test_what_is_equal_is_not_written_again(scene: Scene) -> None:
    scene.do(ApplyApp())
    assert scene.subject.save(scene.app, DECISION, NOW)
    assert not scene.subject.save(scene.app, DECISION, LATER)


def test_people_see_where_the_app_is(scene: Scene) -> None:
    scene.do(ApplyApp())
    scene.subject.save(scene.app, DECISION, NOW)
    seen = status(scene)
    assert (seen["phase"], seen["message"], seen["commit"]) == ("AwaitingPromotion", "nobody merged yet", "c7")
    assert seen["active"] == {
        "version": 6,
        "color": "green",
        "digest": snapshot("v6").digest,
        "commit": "c6",
        "image": "registry.example/web:v6",
        "name": f"v6 ({short(snapshot('v6').digest)})",
    }
    assert (seen["target"], seen["primary"]) == ({"digest": "d7", "commit": "c7"}, {"digest": "d6", "commit": "p6"})
    counts = ("desiredReplicas", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    assert [seen[name] for name in counts] == [3, 5, 2, 3, 1]
    assert seen["waits"] == [
        {
            "gate": "approval",
            "version": 7,
            "reason": "nobody merged yet",
            "until": "2026-05-04T13:00:00Z",
        }
    ]
    assert seen["candidate"]["version"] == 7  # type: ignore[index]
    assert seen["gates"][0] == {  # type: ignore[index]
        "kind": "approval",
        "open": False,
        "reason": "nobody merged yet",
        "until": "2026-05-04T13:00:00Z",
    }
    shown = scene.cluster.kubectl("get", "bgd", "web", "-n", scene.app.namespace)
    assert shown.returncode == 0, shown.stderr
    assert "AwaitingPromotion" in shown.stdout
    for condition in ("Available", "OnHold=False", "Progressing=Unknown"):
        waited = scene.cluster.kubectl("wait", f"--for=condition={condition}", "bgd/web", "-n", scene.app.namespace)
        assert waited.returncode == 0, waited.stderr


def test_the_time_of_a_condition_is_that_of_its_last_flip(scene: Scene) -> None:
    scene.do(ApplyApp())
    scene.subject.save(scene.app, DECISION, NOW)
    other = (Condition("Available", True, "StillServing", "…"), Condition("OnHold", True, "Held", "by alice"))
    scene.subject.save(scene.app, replace(DECISION, conditions=other), LATER)
    times = {each["type"]: each["lastTransitionTime"] for each in status(scene)["conditions"]}  # type: ignore[attr-defined]
    assert times == {"Available": "2026-05-04T12:00:00Z", "OnHold": "2026-05-04T13:00:00Z"}


def test_a_status_that_somebody_wrote_meanwhile_is_not_overwritten(scene: Scene) -> None:
    scene.do(ApplyApp())
    path = collection(names.API_VERSION, names.KIND, scene.app.namespace) + "/web"
    scene.subject._reader.stop()  # type: ignore[attr-defined]  # the cache stands still from here
    scene.cluster.patch(path, {"metadata": {"annotations": {"a": "b"}}}, MERGE)
    with pytest.raises(WorldChanged):
        scene.subject.save(scene.app, DECISION, NOW)


def test_a_record_without_an_app_to_keep_it_is_not_lost_silently(scene: Scene) -> None:
    assert not scene.subject.save(scene.app, Decision((), Record(), Phase.DEPLOYING), NOW)
    with pytest.raises(WorldChanged, match="gone"):
        scene.subject.save(scene.app, DECISION, NOW)


def test_a_wiped_status_wakes_the_agent(scene: Scene) -> None:
    scene.do(ApplyApp())
    scene.subject.save(scene.app, DECISION, NOW)
    path = collection(names.API_VERSION, names.KIND, scene.app.namespace) + "/web/status"
    scene.cluster.patch(path, {"status": None}, MERGE)
    scene.until(lambda _: scene.subject.record(scene.app) == Record())


def test_a_request_reaches_the_agent_and_wakes_it(scene: Scene) -> None:
    scene.do(ApplyApp())
    request = Request("r1", OperatorCommand.ABORT, "alice", NOW, "it burns")
    with scene.changed:
        scene.woken.clear()
    path = collection(names.API_VERSION, names.KIND, scene.app.namespace) + "/web"
    scene.subject.operator_requests.add(scene.app, request)
    assert scene.observe().requests == (request,)
    annotation = scene.cluster.get(path)["metadata"]["annotations"][names.REQUEST]
    assert json.loads(annotation)["by"] == "alice"
    scene.cluster.patch(path, {"metadata": {"annotations": {names.RECONCILE: "now"}}}, MERGE)
    with scene.changed:
        assert scene.changed.wait_for(lambda: scene.app in scene.woken, 10)


def test_requests_wait_beside_each_other_until_they_are_answered_or_taken_back(scene: Scene) -> None:
    scene.do(ApplyApp())
    one, two, three = (Request(number, OperatorCommand.ABORT, "alice", NOW, "it burns") for number in "123")
    for request in (one, two, one):  # whoever asks twice asks once
        scene.subject.operator_requests.add(scene.app, request)
    scene.until(lambda seen: set(seen.requests) == {one, two})
    answered = replace(RECORD, operator=RECORD.operator.answering("2"))
    scene.subject.save(scene.app, replace(DECISION, record=answered), NOW)
    scene.subject.operator_requests.add(scene.app, three)
    scene.until(lambda seen: seen.requests == (one, three))
    scene.subject.operator_requests.add(scene.app, two)
    scene.until(lambda seen: seen.requests == (one, three))
    for request in (one, two, three):
        scene.subject.operator_requests.withdraw(scene.app, request)
    scene.until(lambda seen: seen.requests == ())


def test_a_request_that_nobody_answered_for_days_makes_room_and_otherwise_ten_can_wait(scene: Scene) -> None:
    scene.do(ApplyApp())
    old = [Request(f"old-{number}", OperatorCommand.ABORT, "alice", NOW) for number in range(MOST)]
    late = NOW + TOO_OLD + timedelta(seconds=1)
    new = [Request(f"new-{number}", OperatorCommand.ABORT, "alice", late) for number in range(MOST + 1)]
    for each in (*old, *new[:MOST]):
        scene.subject.operator_requests.add(scene.app, each)
    scene.until(lambda seen: list(seen.requests) == new[:MOST])
    with pytest.raises(Refused, match="10 requests wait for an agent already"):
        scene.subject.operator_requests.add(scene.app, new[MOST])


def test_requests_of_several_people_at_once_are_all_kept(scene: Scene) -> None:
    scene.do(ApplyApp())
    asked = [Request(str(number), OperatorCommand.ABORT, "alice", NOW) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: scene.subject.operator_requests.add(scene.app, each), asked))
    scene.until(lambda seen: {each.id for each in seen.requests} == {each.id for each in asked})


def test_events_stand_beside_the_app_and_count_up(scene: Scene) -> None:
    scene.do(ApplyApp())
    for at in (NOW, LATER):
        scene.subject.record_event(scene.app, "PreviewSwitched", "point the preview at v7", at)
    scene.subject.record_event(scene.app, "ForeignObject", "not ours", NOW, warning=True)
    path = collection("v1", "Event", scene.app.namespace)

    def both() -> bool:
        found = {each["reason"]: each for each in scene.cluster.list(path)}
        return (
            found.get("PreviewSwitched", {}).get("count") == 2
            and found.get("ForeignObject", {}).get("type") == "Warning"
        )

    eventually(both, what="both events are written")
    described = scene.cluster.kubectl("describe", "bgd", "web", "-n", scene.app.namespace)
    assert described.returncode == 0, described.stderr
    assert "point the preview at v7" in described.stdout


def test_events_are_written_in_order_a_moment_later_and_before_the_end(scene: Scene) -> None:
    client = Client(Access(scene.cluster.kubeconfig))
    sink, words = EventSink(client), [f"step {number}" for number in range(6)]

    def put(*said: str) -> None:
        for each in said:
            sink.put(KubernetesEvent(scene.app, "uid", "Repaired", each, False, NOW))

    def told() -> list[str]:
        found = scene.cluster.list(collection("v1", "Event", scene.app.namespace))
        return [each["message"] for each in sorted(found, key=lambda each: int(each["metadata"]["resourceVersion"]))]

    sink.start()
    assert sink.idle
    put(*words[:4])
    eventually(lambda: sink.idle, what="all are written")
    assert told() == words[:4]
    put(*words[4:])
    sink.stop()
    client.close()
    assert told() == words


def test_event_of_an_agent_before_is_no_obstacle_to_the_same_words(scene: Scene) -> None:
    """A new agent has not counted it, and finds its name taken."""
    happening = KubernetesEvent(scene.app, "uid", "PreviewSwitched", "point the preview at v7", False, NOW)
    client = Client(Access(scene.cluster.kubeconfig))
    for at in (NOW, LATER):
        EventSink(client).write(replace(happening, at=at))
    client.close()
    [event] = scene.cluster.list(collection("v1", "Event", scene.app.namespace))
    assert (event["count"], event["lastTimestamp"]) == (1, f"{LATER:%Y-%m-%dT%H:%M:%SZ}")


def test_nothing_is_written_into_an_app_that_is_not_ours(scene: Scene) -> None:
    metadata = {"name": "web", "namespace": scene.app.namespace}
    scene.cluster.apply(
        {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": metadata, "spec": dict(scene.config.body)}
    )
    scene.until(lambda seen: seen.app_foreign)
    assert not scene.subject.save(scene.app, DECISION, NOW)
    assert "status" not in scene.live(names.PLURAL, "web")


def test_an_app_with_our_record_stays_ours_without_its_labels(scene: Scene) -> None:
    scene.do(ApplyApp())
    scene.subject.save(scene.app, DECISION, NOW)
    path = collection(names.API_VERSION, names.KIND, scene.app.namespace) + "/web"
    scene.cluster.patch(path, {"metadata": {"labels": None}}, MERGE)
    seen = scene.until(lambda seen: seen.app_drifted)
    assert not seen.app_foreign
    scene.do(ApplyApp())
    scene.until(lambda seen: not seen.app_drifted)
    assert scene.subject.apps() == [scene.app]


@pytest.mark.parametrize(
    ("change", "is_view_only"),
    [
        ({}, True),
        ({"conditions": [{"type": "GitReachable", "status": "False"}, {"type": "Healthy", "status": "True"}]}, True),
        ({"conditions": [{"type": "OfferWritable", "status": "False"}, {"type": "Healthy", "status": "False"}]}, True),
        ({"phase": "Degraded", "message": "the promotion branch cannot be written"}, True),
        ({"gates": [{"kind": "approval", "reason": "main refuses the agent's commit"}]}, True),
        ({"waits": [{"gate": "git", "reason": "the remote is away"}]}, True),
        ({"conditions": 7}, True),
        ({"phase": "Degraded", "record": {"epoch": "e2"}}, False),
        ({"record": {"epoch": "e2"}}, False),
        ({"replicas": 3}, False),
        ({"observedGeneration": 2}, False),
    ],
)
def test_what_all_processes_have_in_common_is_the_record_and_what_is_counted(
    change: dict[str, object], is_view_only: bool
) -> None:
    conditions = [{"type": "Healthy", "status": "True"}]
    status = {"phase": "Healthy", "record": {"epoch": "e1"}, "conditions": conditions, "waits": []}
    assert differs_in_process_view_only(status | change, status) is is_view_only

"""Every condition with its reason and its sentence, and which are there although nothing is wrong."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.model.analysis import (
    AnalysisPhase,
    AnalysisRun,
    AnalysisStage,
    MeasurementPlan,
    MeasurementResult,
    Metric,
    MetricRun,
)
from gitops_bg.core.model.hooks import Hook, HookAnswer, HookRun, HookType
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.main import SourceVerification
from gitops_bg.core.model.observed import GitView, Observed, ServiceView
from gitops_bg.core.model.policy_facts import PolicyInput
from gitops_bg.core.model.record import Event, LedgerEntry, Record, Switch, SwitchKind
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.world import World
from tests.core.engine.conditions.test_phases import (
    AT_ZERO,
    BACK,
    COMES_UP,
    DOWN,
    FAILED,
    HELD,
    MAIN_REFUSES,
    NO_LEDGER,
    NO_OFFER,
    NO_RIGHTS,
    PROBLEMS,
    SUSPENDED,
    THEIRS,
    UNREACHED,
    UNTOLD,
)
from tests.core.shown import ABSENT, shown
from tests.core.simulation import APP, automatic, deployed, manual
from tests.core.worlds import (
    EARLIER,
    NOW,
    active,
    candidate,
    conditions,
    decided,
    digest,
    found,
    legacy,
    pods,
    rising,
    service,
    world,
)

V1, V2 = "1 (v1)", "2 (v2)"


def asked(
    type_: HookType = HookType.CONFIRM_PROMOTION,
    versions: Any = (),
    deadline: int | None = None,
    more: Any = (),
    **said: Any,
) -> World:
    """A world in which a hook called gate has said this of version 2, in a rollout that is asked about."""
    run = HookRun("gate", type_, digest(2), 2, **{"since": NOW, **said})
    spec = manual(hooks=(Hook("gate", type_, deadline=deadline),))
    return world(*(versions or (active(1), candidate(2))), spec=spec, record={"hooks": (run,), **dict(more)})


METRICS = Metric("errors", "web"), Metric("slow", "web")
JUDGED = manual(pre_promotion_analysis=MeasurementPlan(METRICS))
PRE, POST = AnalysisStage.PRE, AnalysisStage.POST


def analysis(stage: AnalysisStage, of: int, phase: AnalysisPhase) -> AnalysisRun:
    """A run whose first metric decided it, and whose second one still measures."""
    first, second = METRICS
    return AnalysisRun(
        stage, digest(of), of, started_at=NOW, phase=phase, metrics=(found(first, phase), MetricRun(second))
    )


def judged(*runs: AnalysisRun) -> World:
    shown = {"observed": {"preview_service": service("web-preview", 2)}}
    return world(active(1), candidate(2), spec=JUDGED, record={"analysis": runs, "preview": digest(2)}, **shown)


DECIDED = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)


def led(web: ServiceView, *others: ServiceView, switch: Switch | None = None, names_: int = 1) -> World:
    """Two active Services."""
    observed = {"active_service": web, "more_active_services": others}
    spec = manual(more_active_services=("web-grpc",))
    return world(active(1), candidate(2), spec=spec, observed=observed, record={"switch": switch}, names_=names_)


CONDITIONS: dict[str, tuple[World, tuple[bool | None, str, str]]] = {
    "Available: nothing was deployed": (world(rising(1)), (False, "NothingServes", "no version was deployed yet")),
    "Available: an app at 0 replicas": (
        AT_ZERO,
        (False, "ScaledToZero", "target.yaml asks for 0 replicas: nothing serves, and nothing is promoted"),
    ),
    "Available: a port that leads to no pod": (
        UNREACHED,
        (False, "NoEndpoint", f"no container of the active {V1} has the port web of Service web"),
    ),
    "Available: no live pod": (DOWN, (False, "NoPodAvailable", f"no pod of the active {V1} is available")),
    "Available: somebody led the Service elsewhere": (
        world(active(1), observed={"active_service": service("web", 0)}),
        (False, "LedElsewhere", f"no live traffic comes to {V1} through Service web"),
    ),
    "Available: the Service is gone": (
        world(active(1), observed={"active_service": None}),
        (False, "LedElsewhere", f"no live traffic comes to {V1} through Service web"),
    ),
    "Available: one of two Services leads elsewhere": (
        led(service("web", 1), service("web-grpc", 2)),
        (False, "LedElsewhere", f"no live traffic comes to {V1} through Service web-grpc"),
    ),
    "Available: one of two Services is not made yet": (
        led(service("web", 1)),
        (True, "Serving", f"live traffic goes to {V1}"),
    ),
    "Available: a switch is on its way": (
        led(service("web", 1), service("web-grpc", 2), switch=DECIDED, names_=2),
        (True, "Serving", f"live traffic goes to {V1}"),
    ),
    "Available: a switch was withdrawn half-way": (
        led(service("web", 1), service("web-grpc", 2), switch=replace(DECIDED, withdrawn=True)),
        (False, "LedElsewhere", f"no live traffic comes to {V1} through Service web-grpc"),
    ),
    "Healthy: something is on its way": (
        world(active(1), candidate(2)),
        (False, "AwaitingPromotion", f"{V2} is on its way"),
    ),
    "Healthy: something failed": (
        FAILED,
        (False, "Degraded", f"ProgressDeadlineExceeded: {V2} did not become available"),
    ),
    "Healthy: no target yet": (
        world(),
        (False, "Invalid", "the app's folder in main has no target: nothing is deployed until it has one"),
    ),
    "Healthy: a hold": (
        world(active(1), legacy(2), record=HELD),
        (False, "Held", f"5xx; `gitops-bg resume {APP}` lifts the hold"),
    ),
    "Healthy: an app at 0": (
        AT_ZERO,
        (False, "ScaledToZero", "target.yaml asks for 0 replicas: nothing serves, and nothing is promoted"),
    ),
    "CandidateReady: it comes up": (COMES_UP, (False, "Progressing", f"{V2} comes up")),
    "CandidateReady: it failed": (
        FAILED,
        (False, "ProgressDeadlineExceeded", f"ProgressDeadlineExceeded: {V2} did not become available"),
    ),
    "CandidateReady: it is available": (world(active(1), candidate(2)), (True, "Available", f"{V2} is available")),
    "OnHold: the target is": (
        world(active(1), legacy(2), record=HELD),
        (True, "Hold", f"5xx; `gitops-bg resume {APP}` lifts the hold"),
    ),
    "OnHold: another version is": (
        world(active(1), legacy(2), wants=1, record=HELD),
        ABSENT,
    ),
    "Suspended: by whom and why": (world(active(1), spec=SUSPENDED), (True, "Suspended", "ada: incident")),
    "Suspended: by nobody in particular": (
        world(active(1), spec=replace(manual(), suspend=Suspension("incident"))),
        (True, "Suspended", "somebody: incident"),
    ),
    "Suspended: it is over when its time is up": (
        world(active(1), spec=replace(manual(), suspend=Suspension("incident", "ada", NOW))),
        ABSENT,
    ),
    "InvalidSpec: where and what": (
        world(active(1), desired=PROBLEMS),
        (True, "InvalidSpec", "target.yaml:7: no image"),
    ),
    "Conflict: the active Service": (
        world(active(1), observed={"active_service": THEIRS}),
        (True, "ForeignObject", "Service web belongs to helm; delete it or label it"),
    ),
    "Conflict: a ReplicaSet whose owner nobody knows": (
        world(active(1), sets=(pods(1, ours=False, name="web-primary-1"),)),
        (True, "ForeignObject", "web-primary-1 is not ours"),
    ),
    "Conflict: the BlueGreenDeployment itself": (
        world(active(1), observed={"app_foreign": "it belongs to helm"}),
        (True, "ForeignObject", "it belongs to helm"),
    ),
    "OfferWritable: the remote's own words": (
        world(active(1), candidate(2), observed={"git": NO_OFFER}),
        (False, "PushRefused", "protected by rule 7"),
    ),
    "LedgerWritable: the remote's own words": (
        world(active(1), observed={"git": NO_LEDGER}, record=UNTOLD),
        (False, "PushRefused", "protected by rule 7"),
    ),
    "LedgerWritable: with nothing to tell": (
        world(active(1), observed={"git": NO_LEDGER}),
        ABSENT,
    ),
    "Healthy: a history that nobody can read": (
        world(active(1), observed={"git": NO_LEDGER}, record=UNTOLD),
        (False, "Degraded", "the ledger cannot be written: protected by rule 7"),
    ),
    "Healthy: an offer that nobody can merge": (
        world(active(1), candidate(2), observed={"git": NO_OFFER}),
        (False, "Degraded", "the promotion branch cannot be written: protected by rule 7"),
    ),
    "Diverged: the commit is on its way": (
        world(active(1), legacy(2), names_=2, record=BACK),
        (True, "CommitPending", "live traffic was rolled back before Git: 5xx"),
    ),
    "Diverged: main refuses it": (
        world(active(1), legacy(2), names_=2, record=BACK, observed={"git": MAIN_REFUSES}),
        (True, "MainRefusesCommit", "live traffic was rolled back before Git: 5xx"),
    ),
    "Refused: yes": (world(active(1), observed=NO_RIGHTS), (True, "WriteRefused", "create replicasets: 403")),
    "Refused: by what the file says": (
        world(active(1), observed={"refused": "apply services web: 422 Invalid: spec.ports[0].port: Invalid value: 0"}),
        (True, "ObjectInvalid", "apply services web: 422 Invalid: spec.ports[0].port: Invalid value: 0"),
    ),
    "Refused: by a policy of the cluster": (
        world(active(1), observed={"refused": 'create web: 403 Forbidden: admission webhook "x" denied the request'}),
        (True, "PolicyDenied", 'create web: 403 Forbidden: admission webhook "x" denied the request'),
    ),
    "Refused: by a quota": (
        world(active(1), observed={"refused": "create web: 403 Forbidden: exceeded quota: small"}),
        (True, "QuotaExceeded", "create web: 403 Forbidden: exceeded quota: small"),
    ),
    "GitReachable: no": (
        world(active(1), observed={"git": GitView(unreachable="connection refused")}),
        (False, "Unreachable", "connection refused"),
    ),
    "MainWritable: main refuses what the agent would commit": (
        world(active(1), candidate(2), observed={"git": MAIN_REFUSES}),
        (False, "MainRefuses", "protected branch"),
    ),
    "MainWritable: it has nothing to commit": (
        world(active(1), observed={"git": MAIN_REFUSES}),
        ABSENT,
    ),
    "ClockSynchronized: the API server is ahead": (
        world(active(1), observed={"clock_skew": 1}),
        (False, "ApiServerAhead", "the API server's clock is some seconds or more ahead of the agent's"),
    ),
    "ClockSynchronized: the API server is behind": (
        world(active(1), observed={"clock_skew": -7}),
        (False, "ApiServerBehind", "the API server's clock is some seconds or more behind the agent's"),
    ),
    "HistoryRewritten: what is gone, and how to go on": (
        world(active(1), desired={"history_rewritten": "f" * 40}),
        (
            True,
            "MainMovedBackwards",
            "main no longer contains ffffffffff, which was seen before: nothing that main says now moves traffic; "
            "push the former history back, or accept the new one: `gitops-bg accept-history`",
        ),
    ),
    "HooksPassed: what they said": (
        asked(answer=HookAnswer.ACCEPTED, status=200),
        (True, "Passed", "confirm-promotion hook gate: accepted (200)"),
    ),
    "HooksPassed: asked, and silent so far": (asked(), (False, "Asked", "confirm-promotion hook gate: no answer yet")),
    "HooksPassed: its backend is down": (
        asked(answer=HookAnswer.UNANSWERED),
        (False, "Unanswered", "confirm-promotion hook gate: unanswered"),
    ),
    "HooksPassed: its time is up": (
        asked(answer=HookAnswer.REFUSED, since=EARLIER, deadline=60),
        (
            False,
            "Expired",
            f"confirm-promotion hook gate: refused; it did not open within 60 s; `gitops-bg retry {APP}` asks anew",
        ),
    ),
    "HooksPassed: a rollback hook that sees no reason to go back": (
        asked(HookType.ROLLBACK, answer=HookAnswer.REFUSED, status=404),
        (True, "Passed", "rollback hook gate: refused (404)"),
    ),
    "HooksPassed: it said no, and traffic moved all the same": (
        asked(versions=(legacy(1), active(2)), answer=HookAnswer.REFUSED),
        ABSENT,
    ),
    "HooksPassed: it said no, and the target is on hold": (
        asked(versions=(active(1), legacy(2)), more=HELD, answer=HookAnswer.REFUSED, text="3 of 9 checks failed"),
        (False, "Refused", "confirm-promotion hook gate: refused: 3 of 9 checks failed"),
    ),
    "HooksPassed: it said no, and the target went back": (
        replace(asked(answer=HookAnswer.REFUSED), desired=world(active(1), wants=1).desired),
        ABSENT,
    ),
    "AnalysisPassed: none is asked for": (
        world(active(1), candidate(2)),
        ABSENT,
    ),
    "AnalysisPassed: it has not begun": (
        world(active(1), candidate(2), spec=JUDGED),
        (False, "NotBegun", f"pre-promotion analysis of {V2} has not begun"),
    ),
    "AnalysisPassed: the first version is not analysed": (
        world(rising(1), spec=JUDGED),
        ABSENT,
    ),
    "AnalysisPassed: promoted without it": (
        world(active(1), candidate(2), spec=JUDGED, record={"promote_full": 2}),
        (False, "Skipped", f"{V2} is promoted without analysis"),
    ),
    "AnalysisPassed: all that is measured now": (
        judged(analysis(PRE, 2, AnalysisPhase.RUNNING)),
        (False, "Running", f"pre-promotion analysis of {V2}: errors ✔0 ✖0 ?0 ⚠0 of 1; slow ✔0 ✖0 ?0 ⚠0 of 1"),
    ),
    "AnalysisPassed: what decided it": (
        judged(analysis(PRE, 2, AnalysisPhase.FAILED)),
        (False, "Failed", f"pre-promotion analysis of {V2}: errors ✔0 ✖1 ?0 ⚠0 of 1"),
    ),
    "AnalysisPassed: the last rollout's counts": (
        judged(analysis(POST, 1, AnalysisPhase.FAILED), analysis(PRE, 2, AnalysisPhase.SUCCESSFUL)),
        (True, "Successful", f"pre-promotion analysis of {V2}: errors ✔1 ✖0 ?0 ⚠0 of 1"),
    ),
    "AnalysisPassed: of one rollout, that after the promotion": (
        judged(analysis(PRE, 2, AnalysisPhase.SUCCESSFUL), analysis(POST, 2, AnalysisPhase.FAILED)),
        (False, "Failed", f"post-promotion analysis of {V2}: errors ✔0 ✖1 ?0 ⚠0 of 1"),
    ),
    "AnalysisPassed: of a version that is forgotten, nothing is said": (
        world(active(1), record={"analysis": (analysis(PRE, 7, AnalysisPhase.SUCCESSFUL),)}),
        ABSENT,
    ),
    "Ready: an analysis measures": (
        judged(analysis(PRE, 2, AnalysisPhase.RUNNING)),
        (False, "Progressing", f"pre-promotion analysis of {V2}: errors ✔0 ✖0 ?0 ⚠0 of 1; slow ✔0 ✖0 ?0 ⚠0 of 1"),
    ),
    "Ready: what left an analysis open": (
        judged(analysis(PRE, 2, AnalysisPhase.INCONCLUSIVE)),
        (False, "Paused", f"pre-promotion analysis of {V2}: errors ✔0 ✖0 ?1 ⚠0 of 1"),
    ),
    "Conflict: another agent claims the app": (
        world(active(1), observed={"app_claimed": "west claims it, too"}),
        (True, "ClaimedTwice", "west claims it, too"),
    ),
    "LedgerTrusted: nothing speaks against it": (
        world(active(1), record={"sequence": 3}, observed={"git": GitView(ledger_epoch="5eed", ledger_sequence=3)}),
        ABSENT,
    ),
    "LedgerTrusted: somebody else wrote it": (
        world(active(1), observed={"git": GitView(ledger_doubt="Mallory wrote it")}),
        (False, "WrittenByOthers", "Mallory wrote it"),
    ),
    "LedgerTrusted: it has what was never told": (
        world(active(1), record={"sequence": 12, "ledger_claimed": 9}),
        (
            False,
            "Ahead",
            "the ledger says that entry 9 of this app was told, which this record never gave out: "
            "somebody else wrote there, or the record is one of an earlier backup",
        ),
    ),
    "LedgerTrusted: it lost what it had": (
        world(active(1), record={"sequence": 3}, observed={"git": GitView(ledger_epoch="5eed", ledger_sequence=2)}),
        (
            False,
            "Behind",
            "the ledger has this app's entries up to 2, and had them up to 3: somebody set its branch back",
        ),
    ),
    "LedgerTrusted: it lost all of it": (
        world(active(1), record={"sequence": 3}, observed={"git": GitView(ledger_is_known=True)}),
        (
            False,
            "Behind",
            "the ledger has no entry of this app, and had them up to 3: "
            "somebody deleted its branch, or it is another one",
        ),
    ),
    "LedgerTrusted: of what was never told, it has nothing": (
        world(
            active(1),
            record={"sequence": 1, "ledger": (LedgerEntry(1, NOW, Event.PROMOTED),)},
            observed={"git": GitView(ledger_is_known=True)},
        ),
        ABSENT,
    ),
    "LedgerTrusted: nobody has read it": (
        world(active(1), record={"sequence": 3}, observed={"git": GitView()}),
        ABSENT,
    ),
    "LedgerTrusted: what was not told yet, it cannot have": (
        world(
            active(1),
            record={"sequence": 3, "ledger": (LedgerEntry(3, NOW, Event.PROMOTED),)},
            observed={"git": GitView(ledger_epoch="5eed", ledger_sequence=2)},
        ),
        ABSENT,
    ),
    "LedgerTrusted: of a former life": (
        world(active(1), record={"sequence": 3}, observed={"git": GitView(ledger_epoch="other", ledger_sequence=1)}),
        ABSENT,
    ),
    "FolderInMain: the app is gone": (
        world(active(1), desired={"in_git": False}),
        (False, "Orphaned", "the app's folder has left main; it keeps serving"),
    ),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_condition(name: str) -> None:
    state, said = CONDITIONS[name]
    assert conditions(state)[name.partition(":")[0]] == said


def test_analysis_passed_speaks_of_the_version_on_its_way() -> None:
    sim = deployed(automatic(pre_promotion_analysis=MeasurementPlan(METRICS[:1])))

    def said(phase: AnalysisPhase | None = None) -> str:
        """What the condition says, once what is due was measured so."""
        if phase:
            sim.measured = tuple(MeasurementResult(one.id, phase, sim.now) for one in sim.decide().measurements)
            sim.settle()
        return shown(sim.decide())["AnalysisPassed"].reason

    heard = [said()]
    for tag, phase in (("2", AnalysisPhase.FAILED), ("3", AnalysisPhase.SUCCESSFUL)):
        sim.push(tag)
        sim.step()
        heard.append(said())
        sim.settle()
        heard += [said(), said(phase)]
    assert heard == ["", *("NotBegun", "Running", "Failed"), *("NotBegun", "Running", "Successful")]


CALM = [
    ("Available", True, "Serving", f"live traffic goes to {V1}"),
    ("Healthy", True, "Healthy", "the target is live and nothing is on its way"),
    ("Ready", True, "Healthy", "the target is live and nothing is on its way"),
    ("Progressing", True, "NewReplicaSetAvailable", f"{V1} is live"),
    ("Completed", True, "RolloutCompleted", f"the target is live: {V1}"),
]


def test_an_app_that_is_well_says_so_in_five_conditions() -> None:
    found = decided(world(active(1))).conditions
    assert [(one.type, one.status, one.reason, one.message) for one in found] == CALM


@pytest.mark.parametrize("state", [world(rising(1)), world(active(1), candidate(2)), FAILED, DOWN, AT_ZERO])
def test_five_conditions_are_always_there(state: World) -> None:
    assert {kind for kind, *_ in CALM} <= conditions(state).keys()


def test_an_analysis_that_was_good_is_the_sixth_condition() -> None:
    good = world(active(1), spec=JUDGED, record={"analysis": (analysis(POST, 1, AnalysisPhase.SUCCESSFUL),)})
    assert conditions(good).keys() - {kind for kind, *_ in CALM} == {"AnalysisPassed"}


def test_keys_policies_and_a_merged_pull_request_add_nothing_where_all_is_well() -> None:
    git = GitView(verification=SourceVerification(), pull=PullRequest(7, "", PullState.MERGED), has_forge=True)
    state = world(active(1), observed={"git": git}, desired={"policing": PolicyInput()})
    assert conditions(state).keys() == {kind for kind, *_ in CALM}


BEGINNINGS = {
    "its object is created": (Observed(), {}, ["apply the BlueGreenDeployment as Git describes it"]),
    "nothing is created for an app that left main": (Observed(), {"in_git": False}, []),
    "somebody else's object is left alone": (Observed(app_uid="5eed", app_foreign="it belongs to helm"), {}, []),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_before_there_is_a_record(name):
    observed, desired, said = BEGINNINGS[name]
    state = world(wants=1, desired=desired)
    decision = decide(state.spec, state.desired, observed, Record(), NOW)
    assert [str(action) for action in decision.actions] == said
    assert decision.record == Record()

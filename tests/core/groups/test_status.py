"""What is told of a group in each situation: the phase, the sentence, and its own conditions. A row for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gitops_bg.core.group_engine import decide_group
from gitops_bg.core.groups.inputs import DesiredGroup, GroupSpec, ObservedGroup
from gitops_bg.core.groups.model import TransitionStep
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.conditions import HEALTH, Condition, Health, Phase, meaning_of
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.main import SourceVerification, UnreadReason, UnverifiedCommit, VerificationFailure
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.status.groups import GROUP_MEANINGS, SITUATIONS, conditions_of, standing_of
from tests.core.groups.notation import NOW
from tests.core.groups.simulation import STORE, World, store, version
from tests.core.shown import ABSENT, shown, shown_by

Act = Callable[[World], object]


def coming_up(world: World) -> None:
    world.gone, world.lacks = {"cart-v1"}, {"cart-v1"}
    world.settle()


def settled(world: World) -> None:
    world.settle()


def promoting(world: World) -> None:
    world.settle()
    world.active, world.accepts, world.says = "v2", False, "BackendNotFound: cart-v2"
    world.settle()


def promoting_silently(world: World) -> None:
    world.settle()
    world.active, world.accepts = "v2", None
    world.settle()


def going_back(world: World) -> None:
    world.settle()
    world.active = "v2"
    while world.record.transition is None or world.record.transition.step is not TransitionStep.SWITCH:
        world.step()
    world.active, world.accepts, world.says = "v1", False, "BackendNotFound: cart-v2"


def rolling_back(world: World) -> None:
    world.active = "v2"
    world.settle()
    world.active, world.accepts, world.says = "v1", False, "Pending: soon"


def waiting(world: World) -> None:
    world.settle()
    world.active, world.ill = "v2", {"cart-v2"}
    world.settle()


def without_pods(world: World) -> None:
    world.gone = {"cart-v1", "auth-v1"}
    world.settle()


def active_is_ill(world: World) -> None:
    world.settle()
    world.ill = {"cart-v1"}


def candidate_is_ill(world: World) -> None:
    world.settle()
    world.ill = {"cart-v2"}


def candidate_is_gone(world: World) -> None:
    world.gone = {"cart-v2"}
    world.settle()


def refused_at_rest(world: World) -> None:
    world.settle()
    world.accepts, world.says = False, "NoMatchingParent: public"


def unfound_at_rest(world: World) -> None:
    world.settle()
    world.lacks = {"cart-v1"}


def refused_at_first(world: World) -> None:
    world.gone, world.accepts, world.says = {"cart-v1", "auth-v1"}, False, "NoMatchingParent: public"
    world.settle()


def refused_while_waiting(world: World) -> None:
    waiting(world)
    world.accepts, world.says = False, "NoMatchingParent: public"


def given_up(world: World) -> None:
    promoting(world)
    world.after(601).settle()
    world.accepts = True
    world.settle()


def rejected(world: World) -> None:
    world.settle()
    world.active = "v9"


def asks_for_what_was_deleted(world: World) -> None:
    world.versions["v3"] = version("3", cart="/cart")
    world.settle()
    world.active = "v2"
    world.settle()
    world.active = "v3"
    world.settle()


def a_service_is_taken_away(world: World) -> None:
    world.settle()
    world.foreign, world.services["auth"] = {"auth"}, ""


PLACED = "Accepted: every route is in place"
PENDING = "Pending: routes and Services are being written; v1 serves"
LIFTS = "`gitops-bg retry shop/store` lifts the hold"
LATE = f"600 s were not enough for promotion to v2: store: BackendNotFound: cart-v2; {LIFTS}"
ROWS: dict[str, tuple[Act, str, str, str]] = {
    "at rest": (settled, "Healthy", "v1 serves", PLACED),
    "its pods are not there yet": (without_pods, "Deploying", "auth: pods are missing", PENDING),
    "the Gateway finds no Service of what has no pods yet": (
        coming_up,
        "Deploying",
        "cart: pods are missing",
        "NoPods: store: BackendNotFound: cart-v1",
    ),
    "the Gateway refuses a promotion": (
        promoting,
        "Promoting",
        "promotion from v1 to v2: prepare; store: BackendNotFound: cart-v2",
        "NotAccepted: store: BackendNotFound: cart-v2",
    ),
    "the Gateway says nothing": (
        promoting_silently,
        "Promoting",
        "promotion from v1 to v2: prepare; routes are being written",
        PLACED,
    ),
    "a promotion is reverted on its way": (
        going_back,
        "RollingBack",
        "promotion back to v1: prepare; store: BackendNotFound: cart-v2",
        "NotAccepted: store: BackendNotFound: cart-v2",
    ),
    "a rollback is on its way": (
        rolling_back,
        "RollingBack",
        "rollback from v2 to v1: prepare; store: Pending: soon",
        "NotAccepted: store: Pending: soon",
    ),
    "a promotion waits for a member": (waiting, "Waiting", "cart-v2: pods are missing", PLACED),
    "the active version is ill": (active_is_ill, "Degraded", "cart: pods are missing", PLACED),
    "a candidate is ill, which concerns nobody yet": (candidate_is_ill, "Healthy", "v1 serves", PLACED),
    "a candidate serves nobody": (
        candidate_is_gone,
        "Healthy",
        "v2 serves nobody yet: cart-v2 pods are missing; v1 serves",
        PLACED,
    ),
    "the Gateway refuses what serves": (
        refused_at_rest,
        "Degraded",
        "store: NoMatchingParent: public",
        "NotAccepted: store: NoMatchingParent: public",
    ),
    "the Gateway does not find what serves, though it is there": (
        unfound_at_rest,
        "Degraded",
        "store: BackendNotFound: cart-v1",
        "NotAccepted: store: BackendNotFound: cart-v1",
    ),
    "the Gateway refuses a group whose pods are not there yet": (
        refused_at_first,
        "Degraded",
        "store: NoMatchingParent: public",
        "NotAccepted: store: NoMatchingParent: public",
    ),
    "the Gateway refuses what serves, while a promotion waits for a member": (
        refused_while_waiting,
        "Degraded",
        "store: NoMatchingParent: public",
        "NotAccepted: store: NoMatchingParent: public",
    ),
    "a promotion was given up": (given_up, "Held", LATE, PLACED),
    "active names nothing that may be promoted": (rejected, "Degraded", "the group has no version v9", PLACED),
    "active names a candidate that another promotion deleted": (
        asks_for_what_was_deleted,
        "Degraded",
        "v3 was deleted when another version became active: change a file in its folder to have it back",
        PLACED,
    ),
    "a Service of it is somebody else's": (
        a_service_is_taken_away,
        "Degraded",
        "Service auth: it is managed by Helm",
        "NotAccepted: Service auth: it is managed by Helm",
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_what_is_told(row: str) -> None:
    act, phase, sentence, routes = ROWS[row]
    world = store()
    act(world)
    decision = world.decide()
    told = shown(decision)
    assert (decision.phase, told["Ready"].message) == (phase, sentence)
    assert f"{told['RoutesAccepted'].reason}: {told['RoutesAccepted'].message}" == routes
    assert told["RoutesAccepted"].status is routes.startswith("Accepted")
    assert told["InvalidSpec"] == ABSENT
    assert (told["PromotionRejected"] != ABSENT) is row.startswith("active names")


@pytest.mark.parametrize("row", ROWS)
def test_the_phase_says_what_its_condition_says_and_nobody_waits_who_must_act(row: str) -> None:
    world = store()
    ROWS[row][0](world)
    decision = world.decide()
    told = {each.type: each for each in decision.conditions}
    if HEALTH[decision.phase] is Health.DEGRADED:
        kinds = [each.condition for each in SITUATIONS if each.phase is decision.phase]
        counts = [told[kind] for kind in kinds if kind in told]
        asking = [each for each in counts if each.message == told["Ready"].message and _asks(each)]
        assert asking, "it needs somebody, and no condition asks in the same words"
    elif decision.record.transition is None:
        assert told["RoutesAccepted"].reason != "NotAccepted"


def _asks(condition: Condition) -> bool:
    meaning = meaning_of(condition.type, condition.reason, GROUP_MEANINGS)
    return meaning is not None and meaning.asks


LEDGER = {
    "nothing speaks against it": ({}, {}, ABSENT),
    "nobody has looked": (
        {"ledger_is_known": False, "ledger_epoch": "", "ledger_sequence": 0},
        {},
        ABSENT,
    ),
    "somebody else wrote it": (
        {"ledger_doubt": "Mallory wrote it"},
        {"ledger_claimed": 9},
        (False, "WrittenByOthers", "Mallory wrote it"),
    ),
    "it has what was never told": (
        {},
        {"ledger_claimed": 9},
        (
            False,
            "Ahead",
            "the ledger says that entry 9 of this group was told, which this record never gave out: "
            "somebody else wrote there, or the record is one of an earlier backup",
        ),
    ),
    "it lost what it had": (
        {"ledger_epoch": "life", "ledger_sequence": 3},
        {},
        (
            False,
            "Behind",
            "the ledger has this group's entries up to 3, and had them up to 4: somebody set its branch back",
        ),
    ),
    "it lost all of it": (
        {"ledger_epoch": "", "ledger_sequence": 0},
        {},
        (
            False,
            "Behind",
            "the ledger has no entry of this group, and had them up to 4: "
            "somebody deleted its branch, or it is another one",
        ),
    ),
    "of a former life": (
        {"ledger_epoch": "before", "ledger_sequence": 1},
        {},
        ABSENT,
    ),
}


@pytest.mark.parametrize("row", LEDGER)
def test_what_the_ledger_says_against_the_record_is_told_and_changes_no_phase(row: str) -> None:
    seen, remembered, expected = LEDGER[row]
    waiting = (LedgerEntry(5, NOW, Event.PROMOTED),)
    world = store()
    world.settle()
    now = world.decided().with_record(**{"epoch": "life", "sequence": 5, "ledger": waiting, **remembered})
    git = replace(GitView(ledger_is_known=True, ledger_epoch="life", ledger_sequence=4), **seen)  # type: ignore[arg-type]
    now = replace(now, observed=replace(now.observed, git=git))
    assert shown_by(conditions_of(now))["LedgerTrusted"] == expected
    assert standing_of(now).phase is Phase.HEALTHY


def test_the_sentence_of_a_step_names_it() -> None:
    world = store()
    promoting(world)
    assert ": prepare; " in next(each.message for each in world.decide().conditions)
    world.accepts = True
    world.step()
    world.accepts = False
    assert ": switch; " in next(each.message for each in world.decide().conditions)


@pytest.mark.parametrize(
    ("verification", "told"),
    [
        (None, []),
        (SourceVerification(), []),
        (
            SourceVerification(UnverifiedCommit("c" * 40, "Mallory", VerificationFailure.NOT_SIGNED)),
            [(False, "NotSigned")],
        ),
    ],
)
@pytest.mark.parametrize("desired", [DesiredGroup(GroupSpec("v1")), DesiredGroup(None, problems=(Problem("f", "no"),))])
def test_a_group_says_as_an_app_does_up_to_where_main_is_signed(
    desired: DesiredGroup, verification: SourceVerification | None, told: list[tuple[bool, str]]
) -> None:
    found = decide_group(
        STORE, desired, ObservedGroup("uid", git=GitView(verification=verification)), GroupRecord(), NOW
    )
    said = [(each.status, each.reason) for each in found.conditions if each.type == "SourceVerified"]
    assert said == told


@pytest.mark.parametrize("reason", [None, *UnreadReason])
@pytest.mark.parametrize("desired", [DesiredGroup(GroupSpec("v1")), DesiredGroup(None, problems=(Problem("f", "no"),))])
def test_a_group_says_as_an_app_does_why_main_cannot_be_read(
    desired: DesiredGroup, reason: UnreadReason | None
) -> None:
    words = "no route to host; main was last read at 2026-03-01T12:00:00Z, at 0123456789" if reason else ""
    observed = ObservedGroup("uid", git=GitView(unreachable=words, unread_reason=reason or UnreadReason.UNREACHABLE))
    found = decide_group(STORE, desired, observed, GroupRecord(), NOW)
    assert shown(found)["GitReachable"] == ((False, reason.value, words) if reason else ABSENT)


def test_mistakes_and_foreign_objects_are_told_apart() -> None:
    many = tuple(Problem(f"f{number}.yaml", "is wrong") for number in range(4))
    invalid = decide_group(STORE, DesiredGroup(None, problems=many), ObservedGroup("uid"), GroupRecord(), NOW)
    told = {each.type: each for each in invalid.conditions}
    assert (told["InvalidSpec"].status, told["InvalidSpec"].reason) == (True, "InvalidSpec")
    assert told["InvalidSpec"].message == "f0.yaml: is wrong; f1.yaml: is wrong; f2.yaml: is wrong; f3.yaml: is wrong"
    foreign = ObservedGroup("uid", foreign="ReleaseGroup shop/store: it is managed by Helm")
    conflict = decide_group(STORE, DesiredGroup(GroupSpec("v1")), foreign, GroupRecord(), NOW)
    told = {each.type: each for each in conflict.conditions}
    assert (told["InvalidSpec"].reason, told["InvalidSpec"].message) == ("Conflict", foreign.foreign)
    assert (conflict.actions, conflict.record) == ((), GroupRecord())


def test_a_group_without_its_object_gets_it_first_and_nothing_else() -> None:
    world = store()
    decision = world.decide()
    assert [type(each).__name__ for each in decision.actions] == ["ApplyGroup"]
    assert decision.record == GroupRecord()


def test_more_than_three_members_that_are_ill_are_counted() -> None:
    world = store()
    world.versions["v2"] = version(a="/a", b="/b", c="/c", d="/d")
    world.settle()
    world.active, world.ill = "v2", {f"{service}-v2" for service in "abc"}
    world.settle()
    assert _shut(world) == "a-v2: pods are missing; b-v2: pods are missing; c-v2: pods are missing"
    world.ill = {f"{service}-v2" for service in "abcd"}
    assert _shut(world).endswith("c-v2: pods are missing, and 1 more")


def _shut(world: World) -> str:
    return next(gate.reason for gate in world.decide().gates if not gate.open)


@pytest.mark.parametrize(
    ("gone", "active", "said"),
    [
        (set(), "v1", (True, "Answered", "requests that name v2 are answered")),
        (set(), "v2", ABSENT),
        ({"cart-v1"}, "v1", (True, "Answered", "requests that name v2 are answered")),
        ({"cart-v2"}, "v1", (False, "NobodyAnswers", "v2 serves nobody yet: cart-v2 pods are missing")),
    ],
)
def test_whether_requests_that_name_a_candidate_are_answered(gone: set[str], active: str, said: tuple) -> None:
    world = store(active=active)
    world.settle()
    world.gone = gone
    assert shown(world.settle())["CandidatesAnswer"] == said

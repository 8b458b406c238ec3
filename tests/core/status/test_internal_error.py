"""The condition of an app after a bug: it says what to do."""

from gitops_bg.core.errors import Exhausted, InternalError
from gitops_bg.core.model.conditions import Condition, Phase, kstatus_of
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.alike import RecordUnreadable, broken, internal_error

APP = AppKey("shop", "web")


def test_a_bug_is_to_be_reported():
    told = internal_error(APP, InternalError("KeyError: 'a'"))
    assert (told.type, told.status, told.reason) == ("InternalError", True, "InternalError")
    assert told.message.startswith("KeyError: 'a'. The agent tries again; report it, with the traceback in its log. ")


def test_a_bug_that_does_not_end_has_the_command_that_makes_the_record_anew():
    told = internal_error(APP, InternalError("KeyError: 'v1:9f'"))
    assert "Where it does not end" in told.message
    assert (
        """kubectl patch bgd web -n shop --subresource=status --type=merge -p '{"status":{"record":null}}'"""
        in told.message
    )


def test_what_has_run_out_is_no_bug_and_is_not_to_be_reported():
    told = internal_error(APP, Exhausted("reading: there are no more descriptors: EMFILE"))
    assert (told.type, told.status, told.reason) == ("InternalError", True, "InternalError")
    assert told.message == "reading: there are no more descriptors: EMFILE. The agent tries again"


def test_a_record_that_nobody_can_read_has_the_command_that_makes_it_anew():
    told = internal_error(APP, RecordUnreadable("its epoch is no text"))
    assert (told.type, told.status, told.reason) == ("InternalError", True, "RecordUnreadable")
    assert "kubectl patch bgd web -n shop --subresource=status --type=merge" in told.message
    assert """'{"status":{"record":null}}'""" in told.message


def test_app_that_a_bug_keeps_from_being_looked_at_is_degraded_by_every_condition_that_follows_from_its_phase():
    why = internal_error(APP, InternalError("KeyError: 'a'"))
    healthy = Condition("Healthy", False, "Progressing", "v2 comes up")
    progressing = Condition("Progressing", True, "ReplicaSetUpdated", "v2 comes up")
    of_the_phase = kstatus_of(Phase.PROGRESSING, "v2 comes up")
    decision = Decision((), Record(), Phase.PROGRESSING, (healthy, *of_the_phase, progressing))
    assert "Reconciling" in {one.type for one in decision.conditions}
    shown = broken(decision, why)
    assert shown.phase is Phase.DEGRADED
    assert {one.type: one.status for one in shown.conditions} == {
        "Healthy": False,
        "Ready": False,
        "Stalled": True,
        "Progressing": True,
        "InternalError": True,
    }
    changed = [one for one in shown.conditions if one.type != "Progressing"]
    assert {(one.reason, one.message) for one in changed} == {(why.reason, why.message)}
    assert progressing in shown.conditions

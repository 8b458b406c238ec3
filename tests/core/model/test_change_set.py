"""A change set has the result of each action: the Event, the log line and the command line read the same value."""

from gitops_bg.core.model import actions as act
from gitops_bg.core.model.decision import result_event
from gitops_bg.core.model.drift import NOTHING, ActionResult, Change, ChangeSet, ChangeSetEntry
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Color
from tests.core.simulation import template
from tests.core.worlds import digest

SWITCH = act.SwitchTraffic("web", (), 1, digest(1), 2, digest(2), SwitchKind.PROMOTION, 3)
CREATE = act.CreateReplicaSet(2, template("2"), Color.GREEN, 3)
SERVICE = ChangeSetEntry("Service", "shop", "web", Change.CONFIGURED)
MADE = ChangeSetEntry("ReplicaSet", "shop", "web-primary-2", Change.CREATED)


def test_a_change_set_tells_what_was_written_and_what_was_refused() -> None:
    done, refused = ActionResult(CREATE, (MADE,)), ActionResult(SWITCH, refused="no rights")
    changes = ChangeSet((done, refused))
    assert changes.carried_out == (done,)
    assert [str(entry) for each in changes for entry in each.entries] == ["ReplicaSet/shop/web-primary-2 created"]
    assert tuple(NOTHING) == ()


def test_the_event_of_an_action_says_what_was_done_or_why_not() -> None:
    told = result_event(ActionResult(CREATE, (MADE,)))
    assert (told.reason, told.message, told.warning) == ("NewReplicaSetCreated", str(CREATE), False)
    assert not result_event(ActionResult(SWITCH, (SERVICE,))).reason, "the ledger entry of the movement is told"
    refused = result_event(ActionResult(SWITCH, refused="no rights"))
    assert (refused.reason, refused.message) == ("WriteRefused", f"{SWITCH}: no rights")
    assert refused.warning
    not_made = result_event(ActionResult(CREATE, refused="quota"))
    assert not_made.reason == "ReplicaSetCreateError"
    assert not result_event(ActionResult(act.ApplyApp())).reason

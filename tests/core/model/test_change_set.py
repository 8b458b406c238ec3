"""A change set has the result of each action: the Event, the log line and the command line read the same value."""

from gitops_bg.core.model import actions as act
from gitops_bg.core.model.drift import NOTHING, ActionResult, Change, ChangeSet, ChangeSetEntry
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Color
from gitops_bg.core.status.rollout import event_of
from tests.core.simulation import template
from tests.core.worlds import digest

SWITCH = act.SwitchTraffic("web", (), 1, digest(1), 2, digest(2), SwitchKind.PROMOTION, 3)
CREATE = act.CreateReplicaSet(2, template("2"), Color.GREEN, 3)
SERVICE = ChangeSetEntry("Service", "shop", "web", Change.CONFIGURED)
MADE = ChangeSetEntry("ReplicaSet", "shop", "web-primary-2", Change.CREATED)


def test_a_change_set_tells_what_was_written_and_what_was_refused() -> None:
    done, refused = ActionResult(CREATE, (MADE,)), ActionResult(SWITCH, refused="no rights")
    changes = ChangeSet((done, refused))
    assert changes.entries == (MADE,)
    assert (changes.carried_out, changes.refused) == ((done,), (refused,))
    assert [str(each) for each in changes.entries] == ["ReplicaSet/shop/web-primary-2 created"]
    assert tuple(NOTHING) == ()


def test_the_event_of_an_action_says_what_was_done_or_why_not() -> None:
    told = event_of(ActionResult(CREATE, (MADE,)))
    assert told
    assert (told.reason, told.message, told.warning) == ("NewReplicaSetCreated", str(CREATE), False)
    assert event_of(ActionResult(SWITCH, (SERVICE,))) is None, "the ledger entry of the movement is told"
    refused = event_of(ActionResult(SWITCH, refused="no rights"))
    assert refused
    assert (refused.reason, refused.message) == ("WriteRefused", f"{SWITCH}: no rights")
    assert refused.warning
    not_made = event_of(ActionResult(CREATE, refused="quota"))
    assert not_made
    assert not_made.reason == "ReplicaSetCreateError"
    assert event_of(ActionResult(act.ApplyApp())) is None

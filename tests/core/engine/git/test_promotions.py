"""What is written to Git: the commit or the offer of `primary.yaml`, the promotion branch's end, the ledger."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.actions import GitAction, PublishLedger
from gitops_bg.core.model.desired import Missing, Problem
from gitops_bg.core.model.journal import AwaitsPoll, PullRequest, PullState
from gitops_bg.core.model.main import Knowledge, SourceVerification
from gitops_bg.core.model.observed import GitView, PromotionBranch
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.spec import PreviewSwitch, PromoteVia, Suspension
from gitops_bg.core.model.statements import Cause, Hold, Override, Says
from gitops_bg.core.model.version import Snapshot
from gitops_bg.core.world import World
from tests.core.simulation import automatic, deployed, manual, template
from tests.core.worlds import (
    HELD_MAIN,
    NOW,
    active,
    archived,
    candidate,
    decided,
    digest,
    legacy,
    pods,
    primary,
    rising,
    target,
    world,
)

AUTO = automatic()
NONE_UP = (pods(1), pods(2, 3, 0))
BY_HAND = replace(manual(), promote_via=PromoteVia.COMMIT)
SUSPENDED = replace(manual(), suspend=Suspension("incident"))
PROBLEMS = {"problems": (Problem("target.yaml", "broken"),)}
BACK = {"override": Override(digest(2), digest(1), "5xx", "ada", NOW)}
NO_PODS = {"target": target(2, replicas=0)}
NO_PRIMARY = {"primary": Missing.ABSENT}
SAID_SO = Hold(digest(2), "5xx", NOW, Cause.ROLLED_BACK, Says.CLEARED)
HELD = {"holds": (Hold(digest(2), "5xx", NOW),)}
OPEN = PullRequest(7, state=PullState.OPEN, seen_at=AwaitsPoll())


def written(state: World) -> list[Any]:
    """What goes to Git beside the ledger."""
    found = (each for each in decided(state).actions if isinstance(each, GitAction))
    return [each for each in found if not isinstance(each, PublishLedger)]


def git(offered: int = 0, base: int = 1, asks_for: str = "", own_commits: int = 1, here=None, **more):
    said = {"asks_for": asks_for, "own_commits": own_commits, "offered_here": here}
    branch = PromotionBranch(digest(offered), digest(base) if base else "", **said) if offered else None
    return {"git": GitView(promotion=branch, **more)}


def theirs(offered: int, asks_for: str = "promoted", **more) -> dict[str, GitView]:
    """The branch as another cluster wrote it."""
    return git(offered, asks_for=asks_for, here=False, **more)


def commit(number: int, reason: str) -> str:
    return f"commit primary.yaml = {number} (v{number}) to main: {reason}"


def offer(number: int, reason: str) -> str:
    return f"offer {number} (v{number}) on the promotion branch: {reason}"


UNWANTED = "delete the promotion branch: its version is not wanted any more"
MERGED = "delete the promotion branch: main has it"
WANTS_NO_PODS = "target.yaml asks for 0 replicas: it would wait for pods that nobody wants"
REFUSED = {"main_refused": "protected branch"}
WRITTEN = {
    "the agent's own offer on commits that main does not have: it is made anew": (
        world(
            active(1), candidate(2), observed=git(2, asks_for="promoted", own_commits=2), record={"offered": digest(2)}
        ),
        [offer(2, "web 2")],
    ),
    "what people put on it, in several commits: it stands": (
        world(active(1), candidate(2), observed=git(2, own_commits=3), record={"offered": digest(2)}),
        [],
    ),
    "what people ask for on commits of their own: it stands": (
        world(active(1), candidate(2), observed=git(2, asks_for="promoted", own_commits=3)),
        [],
    ),
    "nothing while the target is live": (world(active(1)), []),
    # A candidate.
    "automatic: the commit": (world(active(1), candidate(2), spec=AUTO), [commit(2, "web 2")]),
    "automatic, where main refuses: the offer": (
        world(active(1), candidate(2), spec=AUTO, observed=git(**REFUSED)),
        [offer(2, "web 2")],
    ),
    "automatic, offered, and main takes it now: the commit, and the offer stands until main has it": (
        world(active(1), candidate(2), spec=AUTO, observed=git(2)),
        [commit(2, "web 2")],
    ),
    "automatic, behind a version that primary.yaml names: nothing, that one goes through": (
        world(active(1), rising(2), candidate(3), spec=AUTO, wants=3, names_=2),
        [],
    ),
    "automatic, behind a version that primary.yaml names and that failed: the commit": (
        world(
            active(1),
            rising(2, failure="ProgressDeadlineExceeded"),
            candidate(3),
            spec=AUTO,
            names_=2,
            sets=(pods(1), pods(2, 3, 0), pods(3)),
        ),
        [commit(3, "web 3")],
    ),
    "pull request, behind a version that primary.yaml names: the offer": (
        world(active(1), rising(2), candidate(3), wants=3, names_=2),
        [offer(3, "web 3")],
    ),
    "pull request: the offer": (world(active(1), candidate(2)), [offer(2, "web 2")]),
    "commit by hand: nothing": (world(active(1), candidate(2), spec=BY_HAND), []),
    "a candidate that comes up: nothing": (world(active(1), rising(2), spec=AUTO, sets=NONE_UP), []),
    "a candidate whose commit says nothing": (
        world(active(1), candidate(2, source=replace(candidate(2).source, subject=""))),
        [offer(2, "promotion")],
    ),
    "a candidate that main names already: nothing": (world(active(1), candidate(2), names_=2, spec=AUTO), []),
    "an old version pushed again, automatic: only the offer": (
        world(candidate(1, activated_at=NOW), active(2), wants=1, spec=AUTO),
        [offer(1, "web 1")],
    ),
    "a forgotten version pushed again, automatic: only the offer": (
        world(active(1), candidate(2, activated_at=NOW), spec=AUTO, record={"activations": (digest(1), digest(2))}),
        [offer(2, "web 2")],
    ),
    "a version tried again, automatic: the commit": (
        world(active(1), candidate(2, activated_at=NOW), spec=AUTO, record={"past_holds": (SAID_SO,)}),
        [commit(2, "web 2")],
    ),
    "Git away: nothing": (world(active(1), candidate(2), observed=git(unreachable="down")), []),
    "main not verified: nothing": (world(active(1), candidate(2), observed=git(verification=HELD_MAIN)), []),
    "main not verified: the branch stays": (
        world(active(1), candidate(2), names_=2, observed=git(2, verification=HELD_MAIN)),
        [],
    ),
    "main verified: the offer": (
        world(active(1), candidate(2), observed=git(verification=SourceVerification(keys_trouble="no file"))),
        [offer(2, "web 2")],
    ),
    # The branch.
    "offered already: nothing": (world(active(1), candidate(2), observed=git(2)), []),
    "offered from another main: again": (world(active(1), candidate(2), observed=git(2, base=7)), [offer(2, "web 2")]),
    "another version offered: in its place": (world(active(1), candidate(3), observed=git(2)), [offer(3, "web 3")]),
    "merged: the branch goes": (world(active(1), candidate(2), names_=2, observed=git(2)), [MERGED]),
    "not wanted any more: the branch goes": (
        world(active(1), candidate(2, retiring=True), wants=1, observed=git(2)),
        [UNWANTED],
    ),
    "held, and this cluster offered it: the branch goes": (
        world(active(1), legacy(2), record=HELD, observed=git(2, asks_for="promoted", here=True)),
        [UNWANTED],
    ),
    "held, and this cluster offered it, as only the record knows: the branch goes": (
        world(active(1), legacy(2), record={**HELD, "offered": digest(2)}, observed=git(2)),
        [UNWANTED],
    ),
    "held, and another cluster offers it: the branch stays": (
        world(
            active(1),
            legacy(2),
            record={**HELD, "offered": digest(2)},
            observed=git(2, asks_for="promoted", here=False),
        ),
        [],
    ),
    "held, and a person offers it: the branch stays": (world(active(1), legacy(2), record=HELD, observed=git(2)), []),
    "what main's target no longer names, and another cluster offered: the branch goes": (
        world(active(1), legacy(2), wants=1, record=HELD, observed=git(2, asks_for="promoted", here=False)),
        [UNWANTED],
    ),
    "what main has, and another cluster offered: the branch goes": (
        world(active(1), legacy(2), names_=2, observed=git(2, asks_for="promoted", here=False)),
        [MERGED],
    ),
    "the way back of another cluster, to what this one never had: the branch stays": (
        world(active(2), observed=git(1, base=2, asks_for="rolled-back", here=False)),
        [],
    ),
    "another cluster's way back, to what still serves here: the branch stays": (
        world(active(1), rising(2), names_=2, observed=theirs(1, "rolled-back", base=2)),
        [],
    ),
    "another cluster's way back, to what this one never had: before the candidate": (
        world(active(2), candidate(3), names_=2, observed=theirs(1, "rolled-back", base=2)),
        [],
    ),
    "another cluster's way back, to another version than this one's: theirs to merge first": (
        world(active(1), legacy(2), names_=2, record=BACK, observed=theirs(4, "rolled-back", base=2, **REFUSED)),
        [],
    ),
    "another cluster's way back, and main takes this one's: the commit": (
        world(active(1), legacy(2), names_=2, record=BACK, observed=theirs(4, "rolled-back", base=2)),
        [commit(1, "5xx")],
    ),
    "another cluster's way back, on a main that is no more: the branch goes": (
        world(active(2), observed=theirs(1, "rolled-back", base=7)),
        [UNWANTED],
    ),
    "this cluster's way back that is over: the branch goes": (
        world(active(2), observed=git(1, base=2, asks_for="rolled-back", here=True)),
        [UNWANTED],
    ),
    "another cluster's first version, while another one serves here": (
        world(active(2), desired=NO_PRIMARY, record={"primary": ""}, observed=theirs(1, "deployed", base=0, **REFUSED)),
        [],
    ),
    "another cluster's offer is this one's as well": (world(active(1), candidate(2), observed=theirs(2)), []),
    "another cluster's offer on commits that main does not have: it is made anew": (
        world(active(1), candidate(2), observed=theirs(2, own_commits=3)),
        [offer(2, "web 2")],
    ),
    "another cluster's offer, superseded: the branch goes": (
        world(active(1), candidate(2, retiring=True), rising(3), sets=(pods(1), pods(3, 3, 0)), observed=theirs(2)),
        [UNWANTED],
    ),
    "another cluster's offer, superseded, with an open pull request: the branch stays": (
        world(
            active(1),
            candidate(2, retiring=True),
            rising(3),
            sets=(pods(1), pods(3, 3, 0)),
            observed=theirs(2, pull=OPEN),
        ),
        [],
    ),
    "a rollback on its way while another cluster offers a candidate: that branch stays": (
        world(legacy(1), active(2), candidate(3), names_=2, record=BACK, observed=theirs(3, base=2)),
        [],
    ),
    "its gates shut for a moment: the branch stays": (world(active(1), rising(2), observed=git(2)), []),
    "suspended: the branch stays": (world(active(1), legacy(2), spec=SUSPENDED, observed=git(2)), []),
    "a broken file: the branch stays": (world(active(1), legacy(2), desired=PROBLEMS, observed=git(2)), []),
    "its author wants no pods any more: the branch goes": (
        world(active(1), candidate(2), desired=NO_PODS, observed=git(2, here=True)),
        [f"delete the promotion branch: {WANTS_NO_PODS}"],
    ),
    "its author wants no pods any more, and another cluster offers it: the branch stays": (
        world(active(1), candidate(2), desired=NO_PODS, observed=theirs(2)),
        [],
    ),
    # The way back.
    "a rollback that somebody offers: theirs to merge": (
        world(legacy(1), active(2), candidate(3), observed=git(1, base=2)),
        [],
    ),
    "nobody's rollback, where it says that it asks for a promotion: the branch goes": (
        world(legacy(1), active(2), observed=git(1, base=2, asks_for="promoted")),
        [UNWANTED],
    ),
    "a rollback that Git did not ask for: the commit": (
        world(active(1), legacy(2), names_=2, record=BACK),
        [commit(1, "5xx")],
    ),
    "a rollback that main refuses: the offer": (
        world(active(1), legacy(2), names_=2, record=BACK, observed=git(**REFUSED)),
        [offer(1, "5xx")],
    ),
    "a rollback that main refused, and takes now: the commit, and the offer stands until main has it": (
        world(active(1), legacy(2), names_=2, record=BACK, observed=git(1, base=2)),
        [commit(1, "5xx")],
    ),
    "a rollback, while main was rewritten: nothing": (
        world(active(1), legacy(2), names_=2, record=BACK, desired={"history_rewritten": "f" * 40}),
        [],
    ),
    "a rollback, while main cannot be read: nothing": (
        world(active(1), legacy(2), names_=2, record=BACK, desired={"knowledge": Knowledge.UNKNOWN}),
        [],
    ),
    "a rollback before traffic moved: nothing": (world(legacy(1), active(2), names_=2, record=BACK), []),
    "a rollback while a candidate waits: only the way back": (
        world(active(1), legacy(2), candidate(3), names_=2, spec=AUTO, record=BACK),
        [commit(1, "5xx")],
    ),
    "a rollback on its way while a candidate is offered: its branch goes": (
        world(legacy(1), active(2), candidate(3), names_=2, record=BACK, observed=git(3, base=2, here=True)),
        [UNWANTED],
    ),
    "a rollback of an app that left main: nothing": (
        world(active(1), legacy(2), record=BACK, desired={"in_git": False, "primary": Missing.ABSENT}),
        [],
    ),
    # The first deployment.
    "the first version: the commit": (world(candidate(1)), [commit(1, "first deployment")]),
    "the first version, not up yet: nothing": (world(rising(1), sets=(pods(1, 3, 0),)), []),
    "the first version, where main refuses: the offer": (
        world(candidate(1), observed=git(**REFUSED)),
        [offer(1, "first deployment")],
    ),
    "the first version serves, and main still has not got it": (
        world(active(1), desired=NO_PRIMARY, record={"primary": ""}, observed=git(1, base=0, **REFUSED)),
        [],
    ),
    "the first version, suspended: nothing": (world(candidate(1), spec=SUSPENDED), []),
    "a primary.yaml that somebody removed is not written again": (world(active(1), desired=NO_PRIMARY), []),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_written_to_git(name):
    state, said = WRITTEN[name]
    assert [str(action) for action in written(state)] == said


def test_an_offer_stands_where_main_writes_its_digest_with_another_prefix():
    theirs = replace(primary(1), snapshot=Snapshot("v9:00", template("1").text))
    branch = {"git": GitView(promotion=PromotionBranch(digest(2), "v9:00"))}
    state = world(active(1), candidate(2), desired={"primary": theirs}, observed=branch)
    assert written(state) == []


def test_the_ledger_is_written_with_its_epoch_and_before_the_promotion():
    entries = (LedgerEntry(4, NOW, Event.HELD),)
    actions = decided(world(active(1), candidate(2), record={"ledger": entries, "sequence": 4})).actions
    first, second = (each for each in actions if isinstance(each, GitAction))
    assert (first.epoch, first.entries[0]) == ("5eed", entries[0])
    assert second.version.number == 2


def test_a_commit_says_where_traffic_comes_from():
    (promotion,) = written(world(active(1), candidate(2), spec=AUTO))
    assert (promotion.event, promotion.from_digest, promotion.from_number) == (Event.PROMOTED, digest(1), 1)
    (back,) = written(world(active(1), legacy(2), names_=2, record=BACK))
    assert (back.event, back.from_digest, back.from_number, back.by) == (Event.ROLLED_BACK, digest(2), 2, "ada")
    (first,) = written(world(candidate(1)))
    assert (first.event, first.from_digest, first.from_number) == (Event.DEPLOYED, "", None)


def test_a_commit_and_an_offer_say_by_which_image_tags_people_tell_the_versions_apart():
    said = {
        "a promotion": world(active(1), candidate(2), spec=AUTO),
        "an offer": world(active(1), candidate(2)),
        "a way back": world(active(1), legacy(2), names_=2, record=BACK),
        "the first": world(candidate(1)),
    }
    found = {name: written(state)[0] for name, state in said.items()}
    assert {name: (each.from_tag, each.version.tag) for name, each in found.items()} == {
        "a promotion": ("1", "2"),
        "an offer": ("1", "2"),
        "a way back": ("2", "1"),
        "the first": ("", "1"),
    }


# --- whose offer it is ---

DOWN = {"unreachable": "connection refused"}
OFFERED = {
    "what it offers now": (world(active(1), candidate(2)), digest(2)),
    "what it offered, while the branch is there": (world(active(1), rising(2), observed=git(2)), "before"),
    "what it offered, while nobody can see the branch": (
        world(active(1), candidate(2), observed=git(**DOWN)),
        "before",
    ),
    "nothing once the branch is gone": (world(active(1)), ""),
    "nothing once another cluster has replaced it": (world(active(1), rising(2), observed=theirs(2)), ""),
    "nothing of what it commits": (world(active(1), candidate(2), spec=AUTO), ""),
}


@pytest.mark.parametrize("name", OFFERED)
def test_the_agent_remembers(name):
    state, remembered = OFFERED[name]
    state = state.with_part(replace(state.record.git, offered="before"))
    assert decided(state).record.git.offered == remembered


def test_the_offer_of_an_old_version_that_the_agent_made_itself_is_in_nobodys_way():
    sim = deployed(automatic(scale_down_delay_seconds=0))
    sim.push("2")
    sim.settle()
    sim.push("1")
    sim.settle()
    assert (sim.live, sim.branch) == ("2", "1")
    sim.push("3")
    sim.settle()
    assert (sim.live, sim.branch) == ("3", None)


# --- the preview ---


def at_once(**changes):
    return manual(preview_switch=PreviewSwitch.IMMEDIATE, **changes)


SHOWN = {
    "live traffic's version while nothing is on its way": (world(active(1)), 1),
    "a candidate that is ready": (world(active(1), candidate(2)), 2),
    "not a candidate that comes up": (world(active(1), rising(2), sets=NONE_UP), 1),
    "a candidate that comes up, in Argo's order": (world(active(1), rising(2), spec=at_once(), sets=NONE_UP), 2),
    "the newest ready one while a newer comes up": (
        world(
            active(1),
            candidate(2, retiring=True),
            rising(3),
            record={"preview": digest(2)},
            sets=(pods(1), pods(2), pods(3, 3, 0)),
        ),
        2,
    ),
    "not what is archived while a newer comes up": (
        world(
            active(1), archived(2), rising(3), record={"preview": digest(2)}, sets=(pods(1), pods(2, 0), pods(3, 3, 0))
        ),
        1,
    ),
    "what primary.yaml names": (world(active(1), candidate(2), names_=2, wants=1), 2),
    "not what traffic returns to, before it has": (world(legacy(1), active(2), names_=1), 2),
    "what a rollback left, for debugging": (world(active(1), legacy(2), record={**HELD, "preview": digest(2)}), 2),
    "not what a rollback left once it is archived": (
        world(active(1), archived(2), record={**HELD, "preview": digest(2)}),
        1,
    ),
    "not a candidate that was cancelled": (
        world(active(1), candidate(2, retiring=True), wants=1, record={"preview": digest(2)}),
        1,
    ),
    "nothing before anything is ready": (world(rising(1), sets=(pods(1, 3, 0),)), 0),
    "nothing without a preview Service": (world(active(1), spec=manual(preview_service=None)), 0),
    "suspended: what it showed": (world(active(1), candidate(2), spec=SUSPENDED), 1),
}


@pytest.mark.parametrize("name", SHOWN)
def test_preview_shows(name):
    state, number = SHOWN[name]
    assert decided(state).record.routing.preview == (digest(number) if number else "")

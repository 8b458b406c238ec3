"""Pull requests are made from what should be, whatever went on before: over a forge of plain values and a set clock."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.journal import PollCount, PullState
from gitops_bg.core.model.journal import PullState as State
from gitops_bg.core.model.version import AppKey
from gitops_bg.forge.known import marker_in
from gitops_bg.forge.offer import Content, DesiredPull, Offer, PullSettings
from gitops_bg.forge.port import (
    CheckState,
    ForgeDown,
    MergeRefused,
    NoRight,
    NotAccepted,
    NotOnForge,
    RateLimited,
    TokenRefused,
)
from tests.forge.fake import ADA, Scene
from tests.forge.offers import APPROVAL, AVAILABLE, NOW, offer, side, template

WEB = AppKey("shop", "web")
SHUT = GateResult(GateKind.PAUSE, False, "soak")


def begun(made: Offer | None = None, **changes) -> Scene:
    """A scene in which the offer's pull request is open, with its status."""
    scene = Scene(**changes)
    scene.worker.set_desired(WEB, DesiredPull(made or offer()))
    scene.run()
    return scene


def view(scene: Scene):
    return scene.told[WEB].pull


def test_a_branch_gets_its_pull_request_and_its_status_once() -> None:
    scene = begun()
    scene.run(600)
    assert scene.forge.writes() == ["open", "report"]
    pull = scene.forge.opened[0]
    assert (pull.branch, pull.title) == ("gitops-bg/promote/shop/web", "shop/web: 1.4.0 → 1.5.0 [prod-eu]")
    assert (view(scene).number, view(scene).url, view(scene).state) == (1, pull.url, State.OPEN)
    assert scene.news == 1, "no app is woken for nothing"


def test_the_forge_is_read_before_it_is_written_to() -> None:
    scene = begun()
    assert [call for _, call in scene.forge.calls][:4] == ["open_pulls", "closed_pulls", "open", "report"]


def test_what_was_written_is_not_written_again_by_a_new_process() -> None:
    scene = begun()
    scene.restart()
    scene.run(600)
    assert scene.forge.writes() == ["open", "report"]


def test_a_newer_version_edits_the_same_pull_request() -> None:
    scene = begun()
    scene.run()
    scene.worker.set_desired(WEB, DesiredPull(offer(6)))
    scene.run()
    assert [(each.number, each.title) for each in scene.forge.opened] == [(1, "shop/web: 1.5.0 → 1.6.0 [prod-eu]")]
    assert scene.forge.writes() == ["open", "report", "report", "edit"]


def test_the_newest_look_overwrites_and_a_body_is_edited_once_in_thirty_seconds() -> None:
    scene = begun(offer(gates=(SHUT,)))
    for second in range(60):
        scene.worker.set_desired(WEB, DesiredPull(offer(gates=(replace(SHUT, reason=f"soak {second}"),))))
        scene.run(1)
    edits = [moment for moment, call in scene.forge.calls if call == "edit"]
    assert len(edits) <= 3
    assert all(later - earlier >= timedelta(seconds=30) for earlier, later in pairwise(edits))
    scene.run(60)
    assert "soak 59" in scene.forge.opened[0].body


def test_a_status_is_written_when_state_or_description_changes_and_for_each_head() -> None:
    scene = begun(offer(gates=(SHUT,)))
    scene.worker.set_desired(WEB, DesiredPull(offer(gates=(AVAILABLE, APPROVAL))))
    scene.run()
    scene.worker.set_desired(WEB, DesiredPull(offer(gates=(AVAILABLE, APPROVAL), head="e" * 40)))
    scene.run()
    said = {commit: [each.state for each in all_] for (commit, _), all_ in scene.forge.statuses.items()}
    assert said == {offer().head: [CheckState.PENDING, CheckState.SUCCESS], "e" * 40: [CheckState.SUCCESS]}


def test_a_no_is_heard_within_an_interval_also_after_hours_without_any_pull_request() -> None:
    scene = Scene()
    scene.run(4 * 3600 + 100)
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run(1)
    scene.forge.closes(1, ADA)
    scene.run(scene.interval + 1)
    assert view(scene).state is State.CLOSED


def test_nothing_is_concluded_of_an_app_that_nobody_has_looked_at() -> None:
    scene = begun()
    scene.worker = scene.started()
    scene.run()
    assert len(scene.forge.opened) == 1


def test_what_is_not_wanted_any_more_says_so_and_is_closed_and_that_is_no_no() -> None:
    scene = begun()
    scene.worker.set_desired(WEB, DesiredPull())
    scene.run()
    assert scene.forge.opened == []
    assert scene.forge.writes() == ["open", "report", "edit", "close"]
    assert marker_in(scene.forge.pulls[1].body).offer == ""
    assert view(scene) is None
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run()
    assert [each.number for each in scene.forge.opened] == [2], "the same offer again gets a new one"


@pytest.mark.parametrize("restarts", [False, True])
def test_a_forge_that_closes_with_the_branch_says_no_to_nothing(restarts) -> None:
    scene = begun()
    scene.forge.closes(1)
    scene.worker.set_desired(WEB, DesiredPull())
    scene.run()
    assert marker_in(scene.forge.pulls[1].body).offer == ""
    if restarts:
        scene.restart()
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run()
    assert [each.number for each in scene.forge.opened] == [2]


def test_while_the_branch_is_about_to_be_pushed_or_deleted_nothing_is_concluded() -> None:
    scene = begun()
    scene.worker.set_desired(WEB, DesiredPull(None, settled=False))
    scene.run()
    assert len(scene.forge.opened) == 1


@pytest.mark.parametrize("restarts", [False, True])
def test_a_closed_one_is_told_with_who_closed_it_and_none_is_opened_in_its_place(restarts) -> None:
    scene = begun()
    scene.forge.closes(1)
    if restarts:
        scene.restart()
    scene.run(600)
    assert (view(scene).state, view(scene).closed_by, view(scene).offer) == (State.CLOSED, "ada", offer().id)
    scene.worker.set_desired(WEB, DesiredPull(declined=True))
    scene.run(600)
    assert scene.forge.writes() == ["open", "report"]
    assert view(scene).state is State.CLOSED, "the pull request of what is on hold for it stays as it is"


def test_a_reopened_one_is_told() -> None:
    scene = begun()
    scene.forge.closes(1)
    scene.run()
    scene.worker.set_desired(WEB, DesiredPull(declined=True))
    scene.run()
    scene.forge.reopens(1)
    scene.run()
    assert (view(scene).state, view(scene).offer) == (State.OPEN, offer().id)
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run()
    assert [each.number for each in scene.forge.opened] == [1]


def test_a_retry_of_what_was_closed_gets_a_new_one() -> None:
    scene = begun()
    scene.forge.closes(1)
    scene.run()
    scene.worker.set_desired(WEB, DesiredPull(offer(id=offer().id.replace("#0", "#1"))))
    scene.run()
    assert [each.number for each in scene.forge.opened] == [2]


def test_a_list_from_a_replica_that_lags_reopens_nothing() -> None:
    scene = begun()
    before = scene.forge.pulls[1]
    scene.forge.closes(1)
    scene.run()
    closed, scene.forge.pulls[1] = scene.forge.pulls[1], before
    scene.run()
    scene.forge.pulls[1] = closed
    assert view(scene).state is State.CLOSED


def test_a_list_that_lags_behind_a_creation_opens_no_second_one() -> None:
    scene = begun()
    scene.forge.open_pulls = lambda prefix: ()
    scene.run(300)
    assert scene.forge.writes() == ["open", "report"]


def test_after_a_merge_git_is_waited_for() -> None:
    scene = begun()
    scene.forge.ends(1, PullState.MERGED)
    scene.run(300)
    assert scene.forge.writes() == ["open", "report"], "nobody opens one for what was just merged"
    assert view(scene) is None
    later = PollCount("process", 1, 1)
    scene.worker.set_desired(WEB, DesiredPull(offer(), looks=later))
    scene.run()
    assert [each.number for each in scene.forge.opened] == [2], "main was looked at since, and it is still offered"


def test_one_without_our_text_is_taken_over() -> None:
    """Somebody opened it by hand, before a forge was configured."""
    scene = begun()
    scene.forge.pulls[1] = replace(scene.forge.pulls[1], body="please review", title="Promote")
    scene.restart()
    scene.run()
    assert scene.forge.opened[0].title == "shop/web: 1.4.0 → 1.5.0 [prod-eu]"


# --- two clusters of one repository -----------------------------------------------------------------------------------


def test_two_clusters_with_one_branch_do_not_fight() -> None:
    eu = begun()
    us = Scene(eu.forge, cluster="prod-us")
    us.worker.set_desired(WEB, DesiredPull(offer(cluster="prod-us")))
    for _ in range(20):
        us.run(30)
        eu.run(30)
    assert eu.forge.writes() == ["open", "report", "report"], "one text, and a status of each"
    assert {context for _, context in eu.forge.statuses} == {"gitops-bg/prod-eu", "gitops-bg/prod-us"}
    for scene, cluster in ((eu, "prod-eu"), (us, "prod-us")):
        scene.worker.set_desired(WEB, DesiredPull(offer(6, cluster=cluster)))
    for _ in range(20):
        us.run(30)
        eu.run(30)
    assert eu.forge.writes().count("edit") == 1, "who is first takes the text over"
    us.worker.set_desired(WEB, DesiredPull(settled=False))
    us.run()
    assert len(eu.forge.opened) == 1, "the branch is there: the other cluster still offers it"


def test_who_says_no_to_the_offer_of_another_cluster_writes_its_status_and_nothing_else() -> None:
    eu = begun()
    us = Scene(eu.forge, cluster="prod-us")
    no = offer(cluster="prod-us", refused="on hold: no", only_status=True)
    us.worker.set_desired(WEB, DesiredPull(no))
    before = len(eu.forge.writes())
    us.run(60)
    assert eu.forge.writes()[before:] == ["report"]


def test_who_says_no_to_the_offer_of_another_cluster_says_it_in_a_text_of_its_own() -> None:
    scene = begun()
    scene.worker.set_desired(WEB, DesiredPull(offer(refused="on hold: no", only_status=True)))
    scene.run(60)
    assert scene.forge.writes() == ["open", "report", "report", "edit"]
    assert "Do not merge" in scene.forge.opened[0].body


def test_who_says_no_to_the_offer_of_another_cluster_opens_no_pull_request() -> None:
    scene = begun(offer(refused="on hold: no", only_status=True))
    scene.run(60)
    assert scene.forge.writes() == []


def of_people(cluster: str = "prod-eu", content: Content = Content.WAY_BACK, **changes) -> Offer:
    """What people put on the branch, where the agent had offered version 5: version 3."""
    said = {"id": f"{side(3).digest}@{'d' * 40}#branch", "head": "d" * 40, "to": side(3), "gates": ()}
    return offer(**{"content": content, "cluster": cluster, **said, **changes})


def test_what_people_put_on_the_branch_is_what_its_pull_request_says_and_closing_it_refuses_no_offer() -> None:
    scene = begun()
    scene.worker.set_desired(WEB, DesiredPull(of_people()))
    scene.run()
    assert [each.title for each in scene.forge.opened] == ["shop/web: back to 1.3.0 (v3) [prod-eu]"]
    assert scene.forge.statuses["d" * 40, "gitops-bg/prod-eu"][-1].state is CheckState.SUCCESS
    scene.forge.closes(1)
    scene.run()
    assert (view(scene).state, view(scene).offer) == (State.CLOSED, of_people().id)
    scene.run(600)
    assert scene.forge.opened == [], "it is not opened again"
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run()
    assert [each.title for each in scene.forge.opened] == ["shop/web: 1.4.0 → 1.5.0 [prod-eu]"]


def test_a_closing_before_the_text_followed_the_branch_refuses_nothing() -> None:
    scene = begun()
    scene.forge.fails = lambda call: DOWN if call == "edit" else None
    scene.worker.set_desired(WEB, DesiredPull(of_people()))
    scene.run(5)
    scene.forge.closes(1)
    scene.forge.fails = lambda call: None
    scene.run(1200)
    assert view(scene) is None or view(scene).offer != offer().id


def test_a_rollback_that_people_ask_for_is_opened() -> None:
    scene = begun(of_people())
    assert scene.forge.writes() == ["open", "report"]


def test_what_nobody_offers_is_said_in_the_text_of_this_cluster_and_opened_by_nobody() -> None:
    other = of_people(content=Content.OTHER, only_status=True)
    assert begun(other).forge.writes() == []
    scene = begun()
    scene.worker.set_desired(WEB, DesiredPull(other))
    scene.run()
    assert "does not offer" in scene.forge.opened[0].title


def test_who_only_describes_a_branch_leaves_what_another_cluster_offers_there() -> None:
    """Of one commit, one cluster says that it offers it, and another one that it does not."""
    eu = begun(offer(3, head="d" * 40))
    us = Scene(eu.forge, cluster="prod-us")
    us.worker.set_desired(WEB, DesiredPull(of_people("prod-us")))
    for _ in range(10):
        us.run(30)
        eu.run(30)
    assert eu.forge.writes() == ["open", "report", "report"]
    eu.forge.pulls.clear()
    us.forge.statuses.clear()
    us = Scene(eu.forge, cluster="prod-us")
    us.worker.set_desired(WEB, DesiredPull(of_people("prod-us")))
    us.run()
    for _ in range(10):
        eu.run(30)
        us.run(30)
    assert eu.forge.writes().count("edit") == 1, "who offers it takes the text over, once"


def test_a_closing_is_understood_by_every_cluster() -> None:
    eu = begun()
    us = Scene(eu.forge, cluster="prod-us")
    us.worker.set_desired(WEB, DesiredPull(offer(cluster="prod-us")))
    us.run()
    eu.forge.closes(1)
    eu.run()
    us.run()
    assert view(eu).state is view(us).state is State.CLOSED
    assert eu.forge.opened == []


# --- many at once -----------------------------------------------------------------------------------------------------


def many(count: int) -> list[Offer]:
    return [offer(5, f"web{n}", since=NOW + timedelta(seconds=n), head=f"{n:040x}") for n in range(count)]


def test_above_the_most_that_may_be_open_the_oldest_go_first_and_the_others_know_their_place() -> None:
    scene = Scene(settings=PullSettings(max_open=3))
    offers = many(30)
    for made in reversed(offers):
        scene.worker.set_desired(made.app, DesiredPull(made))
    scene.run()
    assert [each.title.partition(":")[0] for each in scene.forge.opened] == ["shop/web0", "shop/web1", "shop/web2"]
    assert scene.told[AppKey("shop", "web3")].queued.startswith(
        "place 1 in the queue: 3 pull requests are open already"
    )
    assert scene.told[AppKey("shop", "web29")].queued.startswith("more than 20 are before it")
    before = scene.news
    scene.worker.set_desired(offers[0].app, DesiredPull())
    scene.run()
    assert len(scene.forge.opened) == 3
    assert scene.news - before < 12, "not everybody hears of every step of the queue"


@pytest.mark.slow
def test_hundreds_of_apps_in_one_commit_stay_within_the_budget() -> None:
    """60 writes a minute, one a second, 500 creating ones an hour; and all of it is done in the end."""
    scene = Scene(settings=PullSettings(max_open=1000), interval=120)
    for made in many(600):
        scene.worker.set_desired(made.app, DesiredPull(made))
    scene.run(3 * 3600)
    moments = [moment for moment, call in scene.forge.calls if call in ("open", "report")]
    assert len(moments) == 1200
    for window, most in ((timedelta(minutes=1), 60), (timedelta(hours=1), 500), (timedelta(milliseconds=999), 1)):
        busiest = max(
            sum(begin <= each < begin + window for each in moments[i : i + most + 2]) for i, begin in enumerate(moments)
        )
        assert busiest <= most
    reads = len(scene.forge.calls) - len(moments)
    assert reads <= 3 * 30 + 10, "one list a tick, however many apps there are"
    assert scene.waits[0] == 0


def test_creating_comes_before_all_else_and_edits_go_on_where_nothing_may_be_made() -> None:
    scene = Scene(settings=PullSettings(max_open=1000))
    for made in many(600):
        scene.worker.set_desired(made.app, DesiredPull(made))
    scene.run(700)
    assert scene.forge.writes() == ["open"] * 500
    scene.worker.set_desired(AppKey("shop", "web0"), DesiredPull(replace(many(1)[0], gates=(SHUT,))))
    scene.run(10)
    assert scene.forge.writes()[-1] == "edit", "the hour's limit is on what is new"


def test_labels_and_reviewers_are_paid_for() -> None:
    scene = Scene(settings=PullSettings(labels=("promotion",), reviewers=("ada",), max_open=1000))
    for made in many(100):
        scene.worker.set_desired(made.app, DesiredPull(made))
    scene.run(60)
    assert scene.forge.writes().count("open") <= 20, "three requests each, of 60 a minute"


# --- what goes wrong --------------------------------------------------------------------------------------------------

DOWN = ForgeDown("https://forge.example.com did not answer in time")


def test_a_forge_that_is_down_is_asked_later_and_later_and_told_of_once_it_lasts() -> None:
    scene = Scene()
    scene.forge.fails = lambda call: DOWN
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run(3600)
    assert len(scene.forge.calls) < 15
    assert scene.told[WEB].trouble == str(DOWN)
    assert scene.counted["open_pulls", "ForgeDown"] == len(scene.forge.calls)
    scene.forge.fails = lambda call: None
    scene.run(1000)
    assert len(scene.forge.opened) == 1
    assert scene.told[WEB].trouble == ""


def test_one_blip_is_told_to_nobody() -> None:
    scene = begun()
    news, failing = scene.news, [DOWN]
    scene.forge.fails = lambda call: failing.pop() if failing else None
    scene.run(120)
    assert scene.news == news


def test_a_token_that_is_refused_is_told_at_once_with_what_to_do() -> None:
    scene = Scene()
    scene.forge.fails = lambda call: TokenRefused("https://forge.example.com")
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run(10)
    assert "Put a valid one into the token file" in scene.told[WEB].trouble
    assert len(scene.forge.calls) == 1


def test_a_repository_that_is_not_there_yet_is_asked_for_again_within_seconds_and_told_at_once() -> None:
    scene = Scene()
    error = NotOnForge("https://forge.example.com", "list the open pull requests")
    not_yet = [error]
    scene.forge.fails = lambda call: not_yet.pop() if not_yet else None
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run(4)
    assert scene.told[WEB].trouble == str(error)
    scene.run(4)
    assert len(scene.forge.opened) == 1
    assert scene.told[WEB].trouble == ""


def test_the_forge_s_own_limit_holds_for_all_requests() -> None:
    scene = begun()
    until = scene.forge.now + timedelta(minutes=20)
    limited = [RateLimited("https://forge.example.com", until, 1200.0)]
    scene.forge.fails = lambda call: limited.pop() if limited else None
    before = len(scene.forge.calls)
    scene.worker.set_desired(WEB, DesiredPull(offer(6)))
    scene.run(1199)
    assert len(scene.forge.calls) == before + 1
    scene.run(60)
    assert scene.forge.opened[0].title == "shop/web: 1.5.0 → 1.6.0 [prod-eu]"
    assert scene.told[WEB].trouble == "", "it passes by itself"


def test_what_one_app_cannot_have_is_told_to_it_and_stops_no_other() -> None:
    scene = Scene(settings=PullSettings(max_open=10))
    bad, good = many(2)
    error = NotAccepted("https://forge.example.com", "open a pull request", "no commits between main and the branch")
    scene.forge.fails = lambda call: (
        error if call == "open" and not scene.forge.opened and len(scene.forge.writes()) < 2 else None
    )
    for made in (bad, good):
        scene.worker.set_desired(made.app, DesiredPull(made))
    scene.run(30)
    assert [each.branch for each in scene.forge.opened] == [good.branch]
    assert "no commits between" in scene.told[bad.app].trouble
    assert scene.told[good.app].trouble == ""
    scene.run(600)
    assert len(scene.forge.opened) == 2


def test_a_token_without_the_right_to_write_statuses_still_opens_pull_requests() -> None:
    scene = Scene()
    error = NoRight("https://forge.example.com", "write a commit status")
    scene.forge.fails = lambda call: error if call == "report" else None
    for made in many(3):
        scene.worker.set_desired(made.app, DesiredPull(made))
    scene.run(50)
    assert len(scene.forge.opened) == 3
    assert scene.forge.writes().count("report") == 1, "it is not tried for each of them"
    assert all("write a commit status" in scene.told[made.app].trouble for made in many(3))


def test_a_create_whose_answer_is_lost_is_looked_for_before_another() -> None:
    scene = Scene()
    opens = scene.forge.open

    def lost(draft):
        opens(draft)
        raise DOWN

    scene.forge.open = lost
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run(1)
    scene.forge.open = opens
    scene.run(60)
    assert [each.number for each in scene.forge.opened] == [1]
    assert scene.forge.writes() == ["open", "report"]


def test_a_text_that_cannot_be_made_strikes_one_app(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    bad, good = many(2)
    for made in (replace(bad, to=replace(bad.to, template='["no", "template"')), good):
        scene.worker.set_desired(made.app, DesiredPull(made))
    scene.run(60)
    assert [each.branch for each in scene.forge.opened] == [good.branch]
    assert "a bug of the agent" in caplog.text


def test_who_does_not_lead_writes_and_reads_nothing() -> None:
    scene = Scene(leads=False)
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run(300)
    assert scene.forge.calls == []
    scene.leads = True
    scene.run(60)
    assert len(scene.forge.opened) == 1
    scene.leads = False
    scene.worker.stand_by()
    scene.run(300)
    assert scene.forge.writes() == ["open", "report"]


def test_with_nothing_offered_and_nothing_open_the_forge_is_hardly_asked() -> None:
    scene = Scene()
    scene.worker.set_desired(WEB, DesiredPull())
    scene.run(3600)
    assert [call for _, call in scene.forge.calls] == ["open_pulls"] * 6
    scene.worker.poll_soon()
    scene.run(1)
    assert len(scene.forge.calls) == 7, "a webhook wakes"


def green(**changes) -> Offer:
    """An offer that the agent is to merge; the fake's heads are of no branch, so it says the same."""
    return offer(merge=True, head="f" * 40, **changes)


def test_when_green_it_is_merged_after_its_status_was_written_and_git_is_looked_at() -> None:
    scene = begun(green())
    assert scene.forge.writes() == ["open", "report", "merge"]
    assert scene.forge.pulls[1].state is PullState.MERGED
    scene.run(300)
    assert scene.forge.writes() == ["open", "report", "merge"], "what becomes of it, main says"


NOT_GREEN = {
    "a gate is shut": green(gates=(SHUT,)),
    "it is on hold": green(refused="on hold: because"),
    "the branch has moved on": replace(green(), head="e" * 40),
    "nobody asked for it": replace(green(), merge=False),
}


@pytest.mark.parametrize("made", NOT_GREEN.values(), ids=NOT_GREEN.keys())
def test_what_is_not_green_is_not_merged(made: Offer) -> None:
    scene = begun(made)
    scene.run(300)
    assert "merge" not in scene.forge.writes()


def test_a_pull_request_that_somebody_points_to_another_branch_is_not_merged_there() -> None:
    scene = begun(green(gates=(SHUT,)))
    scene.forge.pulls[1] = replace(scene.forge.pulls[1], base="release")
    scene.worker.set_desired(WEB, DesiredPull(green()))
    scene.run(300)
    assert "merge" not in scene.forge.writes()


def test_a_merge_that_the_forge_refuses_is_told_in_its_words_and_tried_again() -> None:
    scene = Scene()
    error = MergeRefused("https://forge.example.com", 1, "not enough approvals")
    scene.forge.fails = lambda call: error if call == "merge" else None
    scene.worker.set_desired(WEB, DesiredPull(green()))
    scene.run(20)
    assert "not enough approvals" in scene.told[WEB].trouble
    scene.forge.fails = lambda call: None
    scene.run(120)
    assert scene.forge.pulls[1].state is PullState.MERGED
    assert scene.told[WEB].trouble == ""


def test_people_are_asked_once_and_again_only_where_the_settings_name_others() -> None:
    asked = []
    scene = Scene(settings=PullSettings(reviewers=("ada",)))
    edits = scene.forge.edit
    scene.forge.edit = lambda pull, draft: (asked.append(draft.reviewers), edits(pull, draft))
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run()
    scene.worker.set_desired(WEB, DesiredPull(offer(to=side(5, template=template("web:9")))))
    scene.run()
    assert asked == [()], "who has reviewed it is not asked again for each edit"
    scene.settings = PullSettings(reviewers=("bob",))
    scene.restart()
    scene.run()
    assert asked == [(), ("bob",)]

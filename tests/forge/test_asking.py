"""Reviews and mergers are read where somebody asks for them, seldom, and stay known without a forge."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from gitops_bg.core.model.journal import PullState
from gitops_bg.core.model.version import AppKey
from gitops_bg.forge.asking import NO_ASKS, Asks, ForgeAnswer
from gitops_bg.forge.offer import DesiredPull
from gitops_bg.forge.port import ForgeDown, NoRight, Review, ReviewVerdict, User
from tests.forge.fake import ADA, Scene
from tests.forge.offers import BOT, NOW, offer

WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
BEN = User("4", "ben")
MAIN = "c" * 40
"""A commit of main."""


def review(user: User = BEN, verdict: ReviewVerdict = ReviewVerdict.APPROVED) -> Review:
    return Review(user, verdict, NOW, offer().head)


def asking(asks: Asks, **changes) -> Scene:
    """A scene in which the offer's pull request is open, and the app asks."""
    scene = Scene(**changes)
    scene.worker.set_desired(WEB, DesiredPull(offer(), asks=asks))
    scene.run()
    return scene


def heard(scene: Scene) -> ForgeAnswer:
    found = scene.worker.answers_of(WEB)
    assert found is not None
    return found


def calls(scene: Scene) -> Counter[str]:
    return Counter(call for _, call in scene.forge.calls)


def test_nobody_who_does_not_ask_costs_a_request() -> None:
    scene = asking(NO_ASKS)
    scene.forge.reviewed(1, review())
    scene.run(600)
    assert calls(scene)["reviews"] == calls(scene)["merged"] == 0
    assert scene.worker.answers_of(WEB) is None


def test_reviews_are_read_when_the_pull_request_changes_and_once_more_after_that() -> None:
    scene = asking(Asks(reviews=True))
    scene.run(300)
    before = calls(scene)["reviews"]
    scene.run(240)
    assert calls(scene)["reviews"] == before, "nothing has changed"
    scene.forge.reviewed(1, review())
    scene.run(31)
    assert heard(scene).reviews == (review(),)
    scene.run(240)
    assert calls(scene)["reviews"] == before + 2, "what came in the same second is seen, too"


def test_a_review_in_the_second_in_which_they_were_read_is_not_lost() -> None:
    scene = asking(Asks(reviews=True))
    scene.run(300)
    scene.forge.reviewed(1, review())
    while not heard(scene).reviews:
        scene.run(1)
    scene.forge.given[1] = [review(), review(ADA)]  # The moment of the last update stays as it is.
    scene.run(60)
    assert heard(scene).reviews == (review(), review(ADA))


def test_a_review_in_the_second_in_which_webhooks_had_them_read_twice_is_not_lost() -> None:
    """Several webhooks in one second bring as many lists, and none of them is later than ``updated_at``."""
    scene = asking(Asks(reviews=True))
    scene.run(300)
    scene.forge.reviewed(1, review())
    for _ in range(3):
        scene.worker.poll_soon()
        scene.run(0.2)
    assert heard(scene).reviews == (review(),)
    scene.forge.given[1] = [review(), review(ADA)]  # In the same second: ``updated_at`` stays as it is.
    scene.run(60)
    assert heard(scene).reviews == (review(), review(ADA))


def test_an_app_hears_of_news_only() -> None:
    scene = asking(Asks(reviews=True))
    scene.run(600)
    before = scene.news
    scene.forge.reviewed(1, review())
    scene.run(300)
    assert scene.news == before + 1


def test_where_there_is_no_pull_request_nobody_has_reviewed_it() -> None:
    scene = Scene()
    scene.worker.set_desired(WEB, DesiredPull(asks=Asks(reviews=True)))
    scene.run()
    assert (heard(scene).pull, heard(scene).reviews) == (None, ())
    assert calls(scene)["reviews"] == 0


def test_gitlab_may_not_show_an_approval_in_its_list_so_a_webhook_counts_there() -> None:
    scene = Scene()
    scene.forge.kind = "gitlab"
    scene.worker = scene.started()
    scene.worker.set_desired(WEB, DesiredPull(offer(), asks=Asks(reviews=True)))
    scene.run(300)
    scene.forge.given[1] = [review()]
    scene.run(60)
    assert heard(scene).reviews == ()
    scene.worker.poll_soon()
    scene.run(1)
    assert heard(scene).reviews == (review(),)
    assert heard(scene).kind == "gitlab"


def test_whatever_the_list_says_they_are_read_every_ten_minutes() -> None:
    scene = asking(Asks(reviews=True))
    scene.run(300)
    scene.forge.given[1] = [review()]
    scene.run(660)
    assert heard(scene).reviews == (review(),)


def test_what_a_forge_said_last_stays_known_while_it_is_down_and_a_new_process_knows_nothing() -> None:
    scene = asking(Asks(reviews=True))
    scene.forge.reviewed(1, review())
    scene.run(31)
    at = heard(scene).at
    scene.forge.fails = lambda _: ForgeDown("forge.example.com does not answer")
    scene.run(3600)
    assert (heard(scene).reviews, heard(scene).at - at < timedelta(minutes=1)) == ((review(),), True)
    scene.restart()
    scene.run(60)
    assert scene.worker.answers_of(WEB) is None


def test_reviews_that_may_not_be_read_stay_unknown_say_so_and_stop_nothing_else() -> None:
    scene = Scene()
    scene.forge.fails = lambda call: NoRight("forge.example.com", "read reviews", "") if call == "reviews" else None
    scene.worker.set_desired(WEB, DesiredPull(offer(), asks=Asks(reviews=True)))
    scene.run(120)
    assert heard(scene).reviews is None if scene.worker.answers_of(WEB) else True
    assert "read reviews" in scene.told[WEB].trouble
    assert scene.forge.writes() == ["open", "report"]


def test_who_does_not_ask_any_more_is_forgotten_and_so_is_all_when_another_leads() -> None:
    scene = asking(Asks(reviews=True))
    assert heard(scene)
    scene.worker.set_desired(WEB, DesiredPull(offer()))
    scene.run()
    assert scene.worker.answers_of(WEB) is None
    scene = asking(Asks(reviews=True))
    scene.worker.stand_by()
    assert scene.worker.answers_of(WEB) is None


def merged_by_ada(scene: Scene) -> None:
    scene.forge.pulls[1] = replace(scene.forge.pulls[1], merge_commit=MAIN)
    scene.forge.ends(1, PullState.MERGED)


def test_what_traffic_waits_for_is_reviewed_where_it_was_merged_poll_by_poll() -> None:
    scene = asking(Asks(reviews=True))
    merged_by_ada(scene)
    scene.worker.set_desired(WEB, DesiredPull(asks=Asks(reviews=True, promotion=MAIN)))
    scene.run(60)
    assert heard(scene).merged[MAIN].pull == scene.forge.pulls[1]
    assert heard(scene).reviews == ()
    scene.forge.given[1] = [review()]
    scene.run(60)
    assert heard(scene).reviews == (review(),)
    assert calls(scene)["merged"] == 1


def test_who_merged_and_who_approved_is_asked_once_after_the_switch() -> None:
    scene = asking(NO_ASKS)
    scene.forge.given[1] = [review()]
    merged_by_ada(scene)
    assert calls(scene)["merged"] == 0
    scene.worker.set_desired(WEB, DesiredPull(asks=Asks(merges=(MAIN,))))
    scene.run(600)
    told = heard(scene).merged[MAIN]
    assert (told.pull.merged_by, told.reviews) == (ADA, (review(),))
    assert (calls(scene)["merged"], calls(scene)["reviews"]) == (1, 1)


def test_what_no_pull_request_let_in_is_asked_a_second_time_and_then_known() -> None:
    scene = Scene()
    scene.worker.set_desired(WEB, DesiredPull(asks=Asks(mergers=(MAIN,))))
    scene.run(30)
    assert MAIN not in heard(scene).merged
    scene.run(90)
    assert heard(scene).merged[MAIN].pull is None
    scene.run(600)
    assert calls(scene)["merged"] == 2


def test_a_forge_that_is_down_after_the_switch_is_asked_again() -> None:
    scene = asking(NO_ASKS)
    merged_by_ada(scene)
    scene.forge.fails = lambda call: ForgeDown("forge.example.com does not answer") if call == "merged" else None
    scene.worker.set_desired(WEB, DesiredPull(asks=Asks(merges=(MAIN,))))
    scene.run(120)
    assert MAIN not in (heard(scene).merged if scene.worker.answers_of(WEB) else {})
    scene.forge.fails = lambda _: None
    scene.run(600)
    assert heard(scene).merged[MAIN].pull is not None


def test_the_agent_knows_its_own_account_by_what_it_opened() -> None:
    assert heard(asking(Asks(reviews=True))).ours == {BOT.id}


def test_a_thousand_promotions_at_once_are_asked_about_a_second_apart_and_after_all_writes() -> None:
    scene = asking(NO_ASKS)
    apps = [AppKey("shop", f"app-{number}") for number in range(100)]
    for number, app in enumerate(apps):
        scene.worker.set_desired(app, DesiredPull(asks=Asks(merges=(f"{number:040x}",))))
    changed = replace(offer(), head="e" * 40)
    scene.worker.set_desired(WEB, DesiredPull(changed))
    scene.forge.calls.clear()
    scene.run(300)
    asked = [moment for moment, call in scene.forge.calls if call == "merged"]
    assert len(asked) >= 100
    assert all(later - before >= timedelta(seconds=1) for before, later in pairwise(asked))
    first_write = next(moment for moment, call in scene.forge.calls if call == "report")
    assert first_write <= asked[0]


@pytest.mark.parametrize("asks", [NO_ASKS, Asks(merges=("a",))])
def test_a_promotion_waits_for_no_review_that_is_not_asked_for(asks: Asks) -> None:
    assert not DesiredPull(asks=asks).needs_the_forge
    assert DesiredPull(asks=Asks(reviews=True)).needs_the_forge


def test_a_second_pull_request_of_the_branch_into_another_one_takes_no_review_away() -> None:
    scene = asking(Asks(reviews=True))
    scene.forge.reviewed(1, review())
    scene.forge.pulls[2] = replace(scene.forge.pulls[1], number=2, base="elsewhere", body="", author=ADA)
    scene.run(120)
    assert heard(scene).pull == scene.forge.pulls[1]
    assert heard(scene).reviews == (review(),)
    assert scene.forge.pulls[2].body == "", "and its text is not ours"


def test_who_merged_a_commit_into_another_branch_did_not_merge_it_into_main() -> None:
    scene = Scene()
    scene.worker.set_desired(WEB, DesiredPull(offer(), asks=Asks(mergers=(MAIN,))))
    scene.run()
    pull = replace(scene.forge.pulls[1], number=2, state=PullState.MERGED, merge_commit=MAIN, merged_by=BEN)
    scene.forge.pulls[2] = replace(pull, base="elsewhere")
    scene.run(180)
    assert heard(scene).merged[MAIN].pull is None

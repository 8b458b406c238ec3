"""What people mark as a draft stays one, and is not merged, on every forge."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.offer import DesiredPull
from tests.forge.fake import Scene
from tests.forge.offers import NOW, offer, pull_of, side, want
from tests.forge.test_worker import SHUT, WEB, begun, green, view
from tests.support.forges.worlds import BRANCH, World

TITLE, NEXT = "shop/web: 1.4.0 → 1.5.0 [prod-eu]", "shop/web: 1.5.0 → 1.6.0 [prod-eu]"
MARKED = {
    f"WIP: {TITLE}": f"WIP: {NEXT}",
    f"[WIP] {TITLE}": f"[WIP] {NEXT}",
    f"draft:{TITLE}": f"draft:{NEXT}",
    f"(Draft) [Draft] {TITLE}": f"(Draft) [Draft] {NEXT}",
    f"WIP: until Monday, {TITLE}": f"WIP: until Monday, {NEXT}",
    "Draft: wait for Monday": f"Draft: {NEXT}",
}
"""The title after a person's edit, and after the agent's next."""


@pytest.mark.parametrize(("title", "after"), MARKED.items())
def test_a_mark_in_the_title_stays_whatever_is_offered_next(title: str, after: str) -> None:
    scene = begun()
    scene.forge.pulls[1] = replace(scene.forge.pulls[1], title=title)
    scene.run(120)
    assert scene.forge.pulls[1].title == title, "the agent has nothing new to say"
    assert "edit" not in scene.forge.writes()
    scene.worker.set_desired(WEB, DesiredPull(offer(6)))
    scene.run(120)
    assert scene.forge.pulls[1].title == after
    assert view(scene).draft


def test_a_mark_set_after_the_last_look_stays() -> None:
    scene = begun()
    scene.forge.pulls[1] = replace(scene.forge.pulls[1], title=f"WIP: {TITLE}")
    scene.worker.set_desired(WEB, DesiredPull(offer(6)))
    scene.run(5)
    assert scene.forge.pulls[1].title == f"WIP: {NEXT}"


OTHER_TITLES = ("Drafting: the plan", "WIP", f"please: {TITLE}", "Promote")


@pytest.mark.parametrize("title", OTHER_TITLES)
def test_a_title_without_a_mark_is_replaced_with_the_next_text(title: str) -> None:
    pull = replace(pull_of(want().draft), title=title)
    assert not pull.is_draft
    assert pull.titled(NEXT) == NEXT


def test_what_is_a_draft_is_not_merged_until_it_is_none() -> None:
    scene = begun(green(gates=(SHUT,)))
    scene.forge.pulls[1] = replace(scene.forge.pulls[1], draft=True)
    scene.run()
    scene.worker.set_desired(WEB, DesiredPull(green()))
    scene.run(300)
    assert "merge" not in scene.forge.writes()
    assert view(scene).draft
    scene.forge.pulls[1] = replace(scene.forge.pulls[1], draft=False)
    scene.run()
    assert scene.forge.pulls[1].state is PullState.MERGED


def test_on_each_forge_a_draft_waits_for_people(world: World) -> None:
    head, forge = world.offer(), world.forge()
    forge.now = NOW  # type: ignore[attr-defined]
    scene = Scene(forge=forge)  # type: ignore[arg-type]
    waits = replace(offer(), branch=BRANCH, head=head, gates=(SHUT,))
    scene.worker.set_desired(WEB, DesiredPull(waits))
    scene.run()
    (pull,) = forge.open_pulls((BRANCH,))
    assert not pull.is_draft
    world.mark_as_draft(pull.number, "ana")
    open_gates = replace(waits, gates=(), merge=True, to=side(6))
    scene.worker.set_desired(WEB, DesiredPull(open_gates))
    scene.run(200)
    marked = forge.pull(pull.number)
    assert (marked.is_draft, marked.state) == (True, PullState.OPEN)
    assert marked.title.endswith("shop/web: 1.4.0 → 1.6.0 [prod-eu]")
    world.mark_as_ready(pull.number, "ana")
    scene.run(200)
    assert forge.pull(pull.number).state is PullState.MERGED


def test_a_mark_that_the_list_does_not_have_yet_stays_and_so_does_one_of_a_pull_request_that_is_there(
    world: World,
) -> None:
    world.offer()
    forge = world.forge()
    listed = forge.open(replace(want().draft, branch=BRANCH, title="a first try"))
    world.mark_as_draft(listed.number, "ana")
    opened = forge.open(replace(want().draft, branch=BRANCH))
    assert opened.number == listed.number
    assert opened.is_draft
    assert forge.pull(listed.number).is_draft
    forge.edit(listed, replace(want(offer(6)).draft, branch=BRANCH))
    edited = forge.pull(listed.number)
    assert edited.is_draft
    assert edited.title.endswith(NEXT)

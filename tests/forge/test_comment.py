"""`forge.comment: true`: one comment of each cluster, which follows its status, on every forge."""

from dataclasses import replace

from gitops_bg.core.model.journal import PullState
from gitops_bg.forge.known import ForgeKnowledge
from gitops_bg.forge.offer import DesiredPull, PullSettings
from tests.forge.fake import Scene
from tests.forge.offers import NOW, offer, pull_of, want
from tests.forge.test_worker import SHUT, WEB, begun
from tests.support.forges.worlds import BRANCH, World

COMMENTED = PullSettings(comment=True)
EU = "<!-- gitops-bg: shop/web prod-eu -->"
US = "<!-- gitops-bg: shop/web prod-us -->"
OPEN = "**success** on <code>prod&#45;{}</code>: <code>every gate is open&#58; merge this</code>"
WAITS = "**pending** on <code>prod&#45;{}</code>: <code>pause&#58; soak</code>"


def test_it_is_one_whatever_the_status_becomes() -> None:
    scene = begun(settings=COMMENTED)
    for gates in ((SHUT,), (), (SHUT,)):
        scene.worker.set_desired(WEB, DesiredPull(offer(gates=gates)))
        scene.run()
    assert scene.forge.comments == {1: [f"{EU}\n{WAITS.format('eu')}"]}
    assert scene.forge.writes().count("comment") == 4
    scene.restart()
    scene.run()
    assert len(scene.forge.comments[1]) == 1, "another process finds it"


def test_it_is_one_on_each_forge(world: World) -> None:
    head, forge = world.offer(), world.forge()
    forge.now = NOW  # type: ignore[attr-defined]
    scene = Scene(forge=forge, settings=COMMENTED)  # type: ignore[arg-type]
    for gates in ((), (SHUT,), (), (SHUT,)):
        made = replace(offer(), branch=BRANCH, head=head, gates=gates)
        scene.worker.set_desired(WEB, DesiredPull(made))
        scene.run(90)
    (pull,) = forge.open_pulls((BRANCH,))
    assert world.comments(pull.number) == [f"{EU}\n{WAITS.format('eu')}"]


def test_each_cluster_has_its_own_and_names_itself() -> None:
    eu = begun(settings=COMMENTED)
    us = Scene(eu.forge, settings=COMMENTED, cluster="prod-us")
    eu.worker.set_desired(WEB, DesiredPull(offer(gates=(SHUT,))))
    us.worker.set_desired(WEB, DesiredPull(offer(cluster="prod-us")))
    for scene in (eu, us, eu):
        scene.run()
    assert eu.forge.comments == {1: [f"{EU}\n{WAITS.format('eu')}", f"{US}\n{OPEN.format('us')}"]}


def test_the_next_pull_request_of_the_branch_has_its_own() -> None:
    scene = begun(settings=COMMENTED)
    scene.forge.ends(1, PullState.MERGED)
    scene.run()
    scene.worker.set_desired(WEB, DesiredPull(offer(6)))
    scene.run()
    assert scene.forge.comments[2] == scene.forge.comments[1] == [f"{EU}\n{OPEN.format('eu')}"]


def test_what_was_said_in_one_that_ended_is_not_kept() -> None:
    known = ForgeKnowledge(comments={1: "it waits", 2: "merge this"})
    known.listed([pull_of(want().draft, number=2)])
    assert known.comments == {2: "merge this"}

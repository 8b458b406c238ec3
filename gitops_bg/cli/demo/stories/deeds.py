"""What users do and see in every story of the demo: a release, a candidate, the ledger."""

from collections.abc import Sequence

from gitops_bg.cli.demo import ledger
from gitops_bg.cli.demo.act import Act
from gitops_bg.cli.demo.scene import APP
from gitops_bg.core.model.record import Event
from gitops_bg.core.names import promotion_branch

BRANCH = promotion_branch(APP)

Move = tuple[Event, str, str]
"""A move of live traffic: the ledger's event, the tag it left, the tag it went to."""


def deploy_first(act: Act) -> None:
    """Push everything in the clone, and wait until its first version is live."""
    act.git("add", "--all")
    act.git("commit", "-m", "web 1.0.0")
    act.push("origin", "main")
    act.expect_first_arrival("1.0.0")
    act.expect("the app is Healthy", lambda: act.sight.phase == "Healthy")


def release(act: Act, tag: str) -> None:
    """Push a new image tag."""
    act.set_image(tag)
    act.git("commit", "-am", f"web {tag}")
    act.push()


def expect_candidate(act: Act, tag: str) -> None:
    """Wait until the pushed tag answers in the preview, and its promotion is offered."""
    sight = act.scene.sight
    act.expect(f"{tag} is the candidate", lambda: sight.candidate == tag)
    act.expect(f"the preview Service answers {tag}", lambda: sight.preview() == tag)
    act.expect(f"the promotion is offered on {BRANCH}", lambda: is_offered(act))


def expect_healthy(act: Act) -> None:
    """Wait until the rollout is over."""
    act.expect("the app is Healthy", lambda: act.sight.phase == "Healthy")


def is_offered(act: Act) -> str:
    """Return the head of the promotion branch; empty where there is none."""
    return act.scene.remote.offered(BRANCH)


def expect_moves(act: Act, moves: Sequence[Move]) -> None:
    """Check that the ledger has exactly these moves of live traffic, each with its commit of main."""
    act.expect(f"the ledger tells of {len(moves)} switches", lambda: _moves(act) == list(moves))
    contains = act.scene.remote.contains
    act.expect(
        "main has the commit of each", lambda: all(contains("main", each.line.commit) for each in _switches(act))
    )


def last_event(act: Act) -> Event:
    """Return the last event in the ledger."""
    return ledger.events(act.scene.remote, act.scene, APP)[-1].event


def show_ledger(act: Act) -> None:
    """Show the ledger's log, and the whole entry of the rollback."""
    act.git("fetch", "--prune")
    act.screen.output(act.git("log", "--reverse", "--oneline", f"origin/{act.scene.ledger}"))
    rollback = next(each.line.ledger for each in _switches(act) if each.line.event is Event.ROLLED_BACK)
    act.screen.output(act.git("log", "-1", rollback[:10]))


def _moves(act: Act) -> list[Move]:
    return [(each.line.event, each.came_from, each.went_to) for each in _switches(act)]


def _switches(act: Act) -> list[ledger.Switched]:
    return ledger.switches(act.scene.remote, act.scene, APP)

"""The story that the demo tells: what a user does in a day, and what is expected of each deed. Nothing else."""

from collections.abc import Callable
from dataclasses import dataclass

from gitops_bg.cli.demo import ledger
from gitops_bg.cli.demo.act import Act
from gitops_bg.cli.demo.scene import APP
from gitops_bg.core.model.record import Event
from gitops_bg.core.names import promotion_branch

BRANCH = promotion_branch(APP)
MOVES = [
    (Event.DEPLOYED, "", "1.0.0"),
    (Event.PROMOTED, "1.0.0", "1.1.0"),
    (Event.ROLLED_BACK, "1.1.0", "1.0.0"),
    (Event.PROMOTED, "1.0.0", "1.1.1"),
]
"""All that the ledger is to tell of live traffic in the end: event, from, to."""


@dataclass(frozen=True, slots=True)
class Step:
    """A name for people, and what happens; it raises ``NotAsExpected`` or ``GitFailed``."""

    name: str
    play: Callable[[Act], None]


def deploy(act: Act) -> None:
    """The template becomes a repository, and its first version goes live."""
    act.git("add", "--all")
    act.git("commit", "-m", "web 1.0.0")
    act.push("origin", "main")
    act.expect_first_arrival("1.0.0")
    act.expect("the app is Healthy", lambda: act.scene.sight.phase == "Healthy")


def push_tag(act: Act) -> None:
    """A new image comes up beside the live one, for the preview alone."""
    act.git("pull")
    _release(act, "1.1.0")
    _expect_preview(act, "1.1.0", live="1.0.0")


def promote(act: Act) -> None:
    """The promotion branch is merged: live traffic moves."""
    _merge(act)
    act.expect_arrival("1.1.0")
    _expect_healthy(act)


def push_bad_tag(act: Act) -> None:
    """An image that cannot be pulled never gets near live traffic; taking it back ends the matter."""
    sight = act.scene.sight
    _release(act, "1.2.0-bad")
    act.expect("1.2.0-bad is the candidate", lambda: sight.candidate == "1.2.0-bad")
    act.expect("its pods wait: ImagePullBackOff", lambda: sight.waiting("1.2.0-bad") == "ImagePullBackOff")
    act.expect_only("1.1.0", seconds=1.5)
    act.expect("it is not ready, and not offered", lambda: not sight.holds("CandidateReady") and not _offered(act))
    act.git("revert", "--no-edit", "HEAD")
    act.push()
    act.expect("the candidate is cancelled", lambda: sight.condition("CandidateReady").get("reason") == "NoCandidate")
    _expect_healthy(act)
    act.expect_only("1.1.0")


def revert_promotion(act: Act) -> None:
    """1.1.0 shows a fault: reverting its merge takes traffic back to 1.0.0, which is still warm."""
    sight = act.scene.sight
    merge = act.git("log", "-1", "--merges", "--format=%h")
    act.screen.output(merge)
    warm = sight.ready("1.0.0")
    act.git("revert", "--no-edit", "-m", "1", merge)
    act.push()
    act.expect_arrival("1.0.0")
    act.expect(f"{warm} pods of 1.0.0 were still warm", lambda: warm == sight.ready("1.0.0") > 0)
    act.expect("1.1.0 is on hold", lambda: sight.phase == "Held" and sight.holds("OnHold") and not _offered(act))
    act.screen.output(str(sight.condition("OnHold").get("message", "")))


def fix_forward(act: Act) -> None:
    """A new digest is no matter of the hold: it is promoted as any other."""
    _release(act, "1.1.1")
    _expect_preview(act, "1.1.1", live="1.0.0")
    _merge(act)
    act.expect_arrival("1.1.1")
    _expect_healthy(act)


def change_mind(act: Act) -> None:
    """An image that runs well in the preview is taken back before its promotion."""
    sight = act.scene.sight
    _release(act, "1.2.0")
    _expect_preview(act, "1.2.0", live="1.1.1")
    act.git("revert", "--no-edit", "HEAD")
    act.push()
    act.expect("the candidate is cancelled", lambda: sight.condition("CandidateReady").get("reason") == "NoCandidate")
    act.expect("the promotion branch is withdrawn", lambda: not _offered(act))
    act.expect("the preview Service answers 1.1.1", lambda: sight.preview() == "1.1.1")
    _expect_healthy(act)
    act.expect_only("1.1.1")


def read_ledger(act: Act) -> None:
    """Git tells the whole truth: one entry for every move of live traffic, each with its commit of main."""
    remote, branch = act.scene.remote, act.scene.ledger

    def moves() -> list[ledger.Switched]:
        return ledger.switches(remote, ledger.events(remote, branch, APP), APP)

    def told() -> list[tuple[Event, str, str]]:
        return [(each.line.event, each.came_from, each.went_to) for each in moves()]

    act.expect(f"the ledger tells of {len(MOVES)} switches", lambda: told() == MOVES)
    act.expect("main has the commit of each", lambda: all(remote.contains("main", m.line.commit) for m in moves()))
    act.expect("it tells of the end", lambda: _last_event(act) is Event.CANCELLED)
    act.git("fetch", "--prune")
    act.screen.output(act.git("log", "--reverse", "--oneline", f"origin/{branch}"))
    rollback = next(each.line.ledger for each in moves() if each.line.event is Event.ROLLED_BACK)
    act.screen.output(act.git("log", "-1", rollback[:10]))


STORY = (
    Step("First deployment: the template is pushed", deploy),
    Step("A new tag: candidate and preview", push_tag),
    Step("Promotion: the branch is merged, live traffic moves", promote),
    Step("A bad tag: it never gets ready, live traffic is untouched", push_bad_tag),
    Step("Rollback: the promotion is reverted, live traffic goes back at once", revert_promotion),
    Step("Fix forward: a new tag, merged", fix_forward),
    Step("A change of mind: a good preview, reverted before promotion", change_mind),
    Step("The ledger: what happened, in Git", read_ledger),
)


def _release(act: Act, tag: str) -> None:
    act.set_image(tag)
    act.git("commit", "-am", f"web {tag}")
    act.push()


def _merge(act: Act) -> None:
    act.git("fetch")
    act.git("merge", "--no-ff", "--no-edit", f"origin/{BRANCH}")
    act.push()


def _expect_preview(act: Act, tag: str, live: str) -> None:
    sight = act.scene.sight
    act.expect(f"{tag} is the candidate", lambda: sight.candidate == tag)
    act.expect(f"the preview Service answers {tag}", lambda: sight.preview() == tag)
    act.expect(f"the promotion is offered on {BRANCH}", lambda: _offered(act))
    act.expect("the app waits for the merge", lambda: sight.phase == "AwaitingPromotion")
    act.expect_only(live)


def _expect_healthy(act: Act) -> None:
    act.expect("the app is Healthy", lambda: act.scene.sight.phase == "Healthy")


def _offered(act: Act) -> str:
    return act.scene.remote.offered(BRANCH)


def _last_event(act: Act) -> Event:
    return ledger.events(act.scene.remote, act.scene.ledger, APP)[-1].event

"""A day with Git alone: push, merge, revert. What the user does, and what must happen after each deed; nothing else."""

from gitops_bg.cli.demo.act import Act
from gitops_bg.cli.demo.hosting import bare_folder
from gitops_bg.cli.demo.stories.deeds import (
    BRANCH,
    deploy_first,
    expect_candidate,
    expect_healthy,
    expect_moves,
    is_offered,
    last_event,
    release,
    show_ledger,
)
from gitops_bg.cli.demo.story import Step, Story
from gitops_bg.core.model.record import Event

MOVES = [
    (Event.DEPLOYED, "", "1.0.0"),
    (Event.PROMOTED, "1.0.0", "1.1.0"),
    (Event.ROLLED_BACK, "1.1.0", "1.0.0"),
    (Event.PROMOTED, "1.0.0", "1.1.1"),
]
"""All moves of live traffic that the ledger must have in the end: event, from, to."""


def deploy(act: Act) -> None:
    """Turn the template into a repository; its first version goes live."""
    deploy_first(act)


def push_tag(act: Act) -> None:
    """Push a new image: it starts beside the live one, for the preview alone."""
    act.git("pull")
    release(act, "1.1.0")
    _expect_preview(act, "1.1.0", live="1.0.0")


def promote(act: Act) -> None:
    """Merge the promotion branch: live traffic moves."""
    _merge(act)
    act.expect_arrival("1.1.0")
    expect_healthy(act)


def push_bad_tag(act: Act) -> None:
    """Push an image that cannot be pulled: it never gets live traffic; revert it."""
    sight = act.scene.sight
    release(act, "1.2.0-bad")
    act.expect("1.2.0-bad is the candidate", lambda: sight.candidate == "1.2.0-bad")
    act.expect("its pods wait: ImagePullBackOff", lambda: sight.waiting("1.2.0-bad") == "ImagePullBackOff")
    act.expect_only("1.1.0", seconds=1.5)
    act.expect("it is not ready, and not offered", lambda: not sight.holds("CandidateReady") and not is_offered(act))
    act.git("revert", "--no-edit", "HEAD")
    act.push()
    act.expect("the candidate is cancelled", lambda: not sight.condition("CandidateReady"))
    expect_healthy(act)
    act.expect_only("1.1.0")


def revert_promotion(act: Act) -> None:
    """Revert the merge of 1.1.0, which shows a fault: traffic returns to 1.0.0, which still has its pods."""
    sight = act.scene.sight
    merge = act.git("log", "-1", "--merges", "--format=%h")
    act.screen.output(merge)
    warm = sight.ready("1.0.0")
    act.git("revert", "--no-edit", "-m", "1", merge)
    act.push()
    act.expect_arrival("1.0.0")
    act.expect(f"{warm} pods of 1.0.0 were still warm", lambda: warm == sight.ready("1.0.0") > 0)
    act.expect("1.1.0 is on hold", lambda: sight.phase == "Held" and sight.holds("OnHold") and not is_offered(act))
    act.screen.output(str(sight.condition("OnHold").get("message", "")))


def fix_forward(act: Act) -> None:
    """Push a new digest: the hold does not concern it, it is promoted as any other."""
    release(act, "1.1.1")
    _expect_preview(act, "1.1.1", live="1.0.0")
    _merge(act)
    act.expect_arrival("1.1.1")
    expect_healthy(act)


def change_mind(act: Act) -> None:
    """Revert an image that runs well in the preview, before its promotion."""
    sight = act.scene.sight
    release(act, "1.2.0")
    _expect_preview(act, "1.2.0", live="1.1.1")
    act.git("revert", "--no-edit", "HEAD")
    act.push()
    act.expect("the candidate is cancelled", lambda: not sight.condition("CandidateReady"))
    act.expect("the promotion branch is withdrawn", lambda: not is_offered(act))
    act.expect("the preview Service answers 1.1.1", lambda: sight.preview() == "1.1.1")
    expect_healthy(act)
    act.expect_only("1.1.1")


def read_ledger(act: Act) -> None:
    """Read the ledger from Git: one entry for every move of live traffic, each with its commit of main."""
    expect_moves(act, MOVES)
    act.expect("it tells of the end", lambda: last_event(act) is Event.CANCELLED)
    show_ledger(act)


DAY = Story(
    "gitops-bg demo: a sandbox cluster, a bare Git remote, the agent, and clients that never stop",
    bare_folder,
    (
        Step("First deployment: the template is pushed", deploy),
        Step("A new tag: candidate and preview", push_tag),
        Step("Promotion: the branch is merged, live traffic moves", promote),
        Step("A bad tag: it never gets ready, live traffic is untouched", push_bad_tag),
        Step("Rollback: the promotion is reverted, live traffic goes back at once", revert_promotion),
        Step("Fix forward: a new tag, merged", fix_forward),
        Step("A change of mind: a good preview, reverted before promotion", change_mind),
        Step("The ledger: what happened, in Git", read_ledger),
    ),
)


def _merge(act: Act) -> None:
    act.git("fetch")
    act.git("merge", "--no-ff", "--no-edit", f"origin/{BRANCH}")
    act.push()


def _expect_preview(act: Act, tag: str, live: str) -> None:
    expect_candidate(act, tag)
    act.expect("the app waits for the merge", lambda: act.scene.sight.phase == "AwaitingPromotion")
    act.expect_only(live)

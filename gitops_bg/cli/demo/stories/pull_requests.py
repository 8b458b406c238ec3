"""A day with pull requests on a Gitea server: merge, freeze, roll back, refuse; and what must happen after
each deed.
"""

from collections.abc import Mapping
from typing import Any

from gitops_bg.cli.demo import gitea
from gitops_bg.cli.demo.act import Act, NotAsExpected
from gitops_bg.cli.demo.hosting import CLUSTER, gitea_server
from gitops_bg.cli.demo.stories.deeds import (
    BRANCH,
    deploy_first,
    expect_candidate,
    expect_healthy,
    expect_moves,
    is_offered,
    release,
    show_ledger,
)
from gitops_bg.cli.demo.story import Step, Story
from gitops_bg.core.model.record import Event

MOVES = [
    (Event.DEPLOYED, "", "1.0.0"),
    (Event.PROMOTED, "1.0.0", "1.1.0"),
    (Event.ROLLED_BACK, "1.1.0", "1.0.0"),
    (Event.PROMOTED, "1.0.0", "1.2.0"),
]
"""All moves of live traffic that the ledger must have in the end: event, from, to."""

_STATUS = f"gitops-bg/{CLUSTER}"
_WHY = "INC-4711, ask Grace"
_FREEZE = f"""\
apiVersion: gitops-bg.dev/v1alpha1
kind: PromotionPolicy
metadata: {{name: freeze}}
spec:
  rules:
  - windows: {{deny: [{{start: "2026-01-01", reason: "{_WHY}"}}]}}
"""
_TWO_PAIRS_OF_EYES = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: PromotionPolicy
metadata: {name: two-pairs-of-eyes}
spec:
  rules:
  - approvals: {count: 1}
"""
_PEOPLE = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
"""
_PROTECTION = {
    "branch_name": "main",
    "enable_push": True,
    "enable_push_whitelist": True,
    "push_whitelist_usernames": [gitea.ADMIN],
    "enable_status_check": True,
    "status_check_contexts": [_STATUS],
}
"""People push, the agent does not, and a merge needs the agent's status."""

Pull = Mapping[str, Any]


def deploy(act: Act) -> None:
    """Set up a repository with pull requests and two pairs of eyes; main is protected, also from the agent."""
    forge = _forge(act)
    act.write("gitops-bg.yaml", "forge: {type: gitea}\n")
    act.write("policies/eyes.yaml", _TWO_PAIRS_OF_EYES)
    people = (
        f"- {{name: {name}, emails: [{name}@example.com], forge: {{gitea: {forge.user_id(name)}}}}}\n"
        for name in (gitea.ADMIN, gitea.REVIEWER)
    )
    act.write("policies/people.yaml", _PEOPLE + "".join(people))
    deploy_first(act)
    act.at_forge(f"{gitea.ADMIN} protects main: the agent may not push, merges need the status {_STATUS}")
    forge.ask("POST", "/branch_protections", _PROTECTION)


def push_tag(act: Act) -> None:
    """Push a new image: the agent opens a pull request, and its commit status says whether it may be merged."""
    act.git("pull")
    release(act, "1.1.0")
    expect_candidate(act, "1.1.0")
    pull = _expect_pull(act, "1.1.0", "pending", "0 of 1 approvals")
    act.screen.output(pull["title"])
    act.screen.output(pull["html_url"])
    act.expect_only("1.0.0")


def approve(act: Act) -> None:
    """Approve: it counts by somebody other than the author, and for this very version."""
    _review(act, "1.1.0", gitea.ADMIN)
    _expect_pull(act, "1.1.0", "pending", f"{gitea.ADMIN} is an author")
    _review(act, "1.1.0", gitea.REVIEWER)
    _expect_pull(act, "1.1.0", "success")


def squash(act: Act) -> None:
    """Squash: there is no merge commit, so the content of main shows what was merged."""
    _merge(act, "1.1.0")
    act.expect_arrival("1.1.0")
    expect_healthy(act)
    act.expect("the promotion branch is withdrawn", lambda: not is_offered(act))


def freeze(act: Act) -> None:
    """Stop every promotion by one commit: the pull request says why, and its button is disabled."""
    act.git("pull")
    act.write("policies/freeze.yaml", _FREEZE)
    act.git("add", "policies")
    act.git("commit", "-m", "Freeze")
    act.push()
    release(act, "1.2.0")
    expect_candidate(act, "1.2.0")
    _review(act, "1.2.0", gitea.REVIEWER)
    _expect_pull(act, "1.2.0", "pending", _WHY)
    try:
        _merge(act, "1.2.0")
    except gitea.GiteaFailed as refused:
        act.screen.output(str(refused))
    else:
        raise NotAsExpected("the merge was to be refused, and was not")
    act.expect_only("1.1.0")


def roll_back(act: Act) -> None:
    """Roll back 1.1.0, which shows a fault, during the freeze: a freeze stops no rollback."""
    promotion = act.git("log", "-1", "--format=%h", "--", "apps/shop/web/primary.yaml")
    act.screen.output(promotion)
    act.git("revert", "--no-edit", promotion)
    act.push()
    act.expect_arrival("1.0.0")


def unfreeze(act: Act) -> None:
    """End the freeze: the status turns green, and the merge moves live traffic."""
    act.git("revert", "--no-edit", act.git("log", "-1", "--format=%h", "--", "policies"))
    act.push()
    _expect_pull(act, "1.2.0", "success")
    _merge(act, "1.2.0")
    act.expect_arrival("1.2.0")
    expect_healthy(act)


def close(act: Act) -> None:
    """Close a pull request without a merge, which refuses the version; reopen it, which permits it again."""
    sight = act.scene.sight
    act.git("pull")
    release(act, "1.3.0")
    expect_candidate(act, "1.3.0")
    number = _expect_pull(act, "1.3.0", "pending", "0 of 1 approvals")["number"]
    _set_state(act, number, "closed", "closes")
    act.expect("1.3.0 is on hold", lambda: sight.holds("OnHold"))
    act.screen.output(str(sight.condition("OnHold").get("message", "")))
    _set_state(act, number, "open", "opens again")
    act.expect("the hold is lifted", lambda: not sight.holds("OnHold"))
    act.expect_only("1.2.0")


def read_ledger(act: Act) -> None:
    """Read the ledger: Git carries every promotion as without a forge, and it says who merged and who approved."""
    expect_moves(act, MOVES)
    remote, branch = act.scene.remote, act.scene.ledger
    act.expect("it says who approved", lambda: remote.log(branch, "%(trailers:key=Bg-Approved-By)").count("grace") == 2)
    show_ledger(act)


def pull_requests(assets: gitea.Assets) -> Story:
    """Return the story, on a Gitea server made from ``assets``."""
    return Story(
        "The same with pull requests: a Gitea server, a protected main, two people",
        gitea_server(assets),
        (
            Step("First deployment: pushed over HTTP, then main is protected", deploy),
            Step("A new tag: the agent opens a pull request", push_tag),
            Step("Two pairs of eyes: who wrote it cannot approve it", approve),
            Step("Promotion: the pull request is squashed, live traffic moves", squash),
            Step("A freeze: the pull request says so, and cannot be merged", freeze),
            Step("Rollback in the freeze: nothing stands in the way back", roll_back),
            Step("The freeze ends: the merge goes through", unfreeze),
            Step("Closed is no, opened again is yes", close),
            Step("The ledger: what happened, in Git", read_ledger),
        ),
    )


def _forge(act: Act) -> gitea.Repository:
    if act.scene.forge is None:
        raise NotAsExpected("this story needs a server with pull requests, and its scene has none")
    return act.scene.forge


def _expect_pull(act: Act, tag: str, state: str, why: str = "") -> Pull:
    """Return the open pull request that offers a tag, with a commit status that says why."""
    act.expect(f"its pull request is open, the status {state}", lambda: _pull(act, tag, state, why))
    pull = _pull(act, tag, state, why)
    act.screen.output(_forge(act).status(pull["head"]["sha"]).get("description", ""))
    return pull


def _pull(act: Act, tag: str, state: str, why: str) -> Pull:
    """Return the open pull request that offers a tag, if its commit status has a state and a reason; else empty."""
    forge = _forge(act)
    pulls = [each for each in forge.pull_requests() if f"→ {tag} " in each["title"] and each["head"]["ref"] == BRANCH]
    said = [(pull, forge.status(pull["head"]["sha"])) for pull in pulls]
    good = (pull for pull, status in said if status.get("status") == state and why in status["description"])
    return next(good, {})


def _review(act: Act, tag: str, user: str) -> None:
    act.expect("its pull request is open", lambda: _number(act, tag))
    act.at_forge(f"{user} approves pull request #{_number(act, tag)}")
    _forge(act).ask("POST", f"/pulls/{_number(act, tag)}/reviews", {"event": "APPROVED"}, user)


def _number(act: Act, tag: str) -> int:
    return next((int(each["number"]) for each in _forge(act).pull_requests() if f"→ {tag} " in each["title"]), 0)


def _merge(act: Act, tag: str) -> None:
    number = _number(act, tag)
    act.at_forge(f"{gitea.REVIEWER} presses Squash on pull request #{number}")
    act.expect("Gitea merges it", lambda: _merges(act, number))


def _merges(act: Act, number: int) -> bool:
    """Merge a pull request; False while Gitea says to try again, because it has not looked whether that is possible.

    Its queue may have lost that look, and who views the request, as a person does, has it look once more.
    """
    pull = f"/pulls/{number}"
    try:
        _forge(act).ask("POST", f"{pull}/merge", {"Do": "squash"}, gitea.REVIEWER)
    except gitea.GiteaFailed as failure:
        if "try again later" not in str(failure):
            raise
        _forge(act).ask("GET", pull, user=gitea.REVIEWER)
        return False
    return True


def _set_state(act: Act, number: int, state: str, deed: str) -> None:
    act.at_forge(f"{gitea.REVIEWER} {deed} pull request #{number}")
    _forge(act).ask("PATCH", f"/pulls/{number}", {"state": state}, gitea.REVIEWER)

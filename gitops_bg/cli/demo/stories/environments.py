"""A day with three environments, a cluster each: one push travels to production, with Git as the only meeting place."""

from gitops_bg.cli.demo import ledger
from gitops_bg.cli.demo.act import Act, NotAsExpected
from gitops_bg.cli.demo.agent_process import AgentProcess
from gitops_bg.cli.demo.hosting import bare_folder
from gitops_bg.cli.demo.scene import APP
from gitops_bg.cli.demo.stories.deeds import expect_healthy, release
from gitops_bg.cli.demo.story import Step, Story
from gitops_bg.spec.app.layout import APP_FILE, ENVIRONMENTS_FILE, OVERLAY_FILE, RELEASE_FILE, app_file, folder_of

DEV, STAGING, PROD = "dev-1", "staging-1", "prod-1"

_PROVEN_SECONDS = 5
_PROVEN = f"proven: {_PROVEN_SECONDS}s"
_FOR_REAL = "proven: 2h"
_ENVIRONMENTS = f"""\
apiVersion: gitops-bg.dev/v1alpha1
kind: Environments
environments:
  - name: dev
    clusters: [{DEV}]
    autoPromotionEnabled: true
  - name: staging
    clusters: [{STAGING}]
    autoPromotionEnabled: true
  - name: prod
    clusters: [{PROD}]
    after: {{{_PROVEN}}}
    autoPromotionEnabled: true
"""
_REPLICAS = {"dev": 1, "staging": 2, "prod": 3}


def deploy(act: Act) -> None:
    """Give the template's app three environments: its first version goes all the way."""
    remote = act.scene.remote
    remote.remove("apps/shop/api")
    act.write(ENVIRONMENTS_FILE, _ENVIRONMENTS)
    for name, replicas in _REPLICAS.items():
        act.write(f"{folder_of(APP)}/{name}/{OVERLAY_FILE}", f"spec: {{replicas: {replicas}}}\n")
    remote.replace(app_file(APP, APP_FILE), "via: pullRequest", "via: commit")
    act.git("add", "--all")
    act.git("commit", "-m", "web 1.0.0, in three environments")
    act.push("origin", "main")
    for cluster in (DEV, STAGING, PROD):
        act.at(cluster).expect_first_arrival("1.0.0")
    expect_healthy(act.at(PROD))


def push_tag(act: Act) -> None:
    """Push one tag: it serves in each environment once the one before has proven it."""
    _release(act, "1.1.0")
    for cluster in (DEV, STAGING, PROD):
        act.at(cluster).expect_arrival("1.1.0")
    act.expect(
        "what came in is the same in both, byte for byte", lambda: _came_into(act, "staging") == _came_into(act, "prod")
    )


def kill_an_agent(act: Act) -> None:
    """Kill the agent of staging while a release soaks there: nothing goes through until it is back."""
    _release(act, "1.2.0")
    for cluster in (DEV, STAGING):
        act.at(cluster).expect_arrival("1.2.0")
    staging = act.at(STAGING)
    staging.expect("its ledger tells of it", lambda: _last_in_ledger(staging) == "1.2.0")
    agent = _agent_of(staging)
    agent.kill()
    act.screen.print_note(f"kill -9: the agent of {STAGING} is gone; its app serves on")
    act.at(PROD).expect_only("1.1.0", seconds=1.5 * _PROVEN_SECONDS)
    staging.expect("live traffic stays with 1.2.0", lambda: staging.sight.live() == "1.2.0")
    act.screen.output(act.gitops_bg("environments", str(APP)))
    agent.start()
    act.screen.print_note(f"the agent of {STAGING} starts again")
    act.at(PROD).expect_arrival("1.2.0")


def roll_back(act: Act) -> None:
    """Revert the promotion in production: production goes back, and nothing else does."""
    act.git("pull")
    promotion = act.git("log", "-1", "--format=%h", "--", f"{folder_of(APP)}/prod/primary.yaml")
    act.screen.output(promotion)
    act.git("revert", "--no-edit", promotion)
    act.push()
    act.at(PROD).expect_arrival("1.1.0", stays=_PROVEN_SECONDS)
    act.at(PROD).expect("1.2.0 is on hold", lambda: act.at(PROD).sight.holds("OnHold"))
    for cluster in (DEV, STAGING):
        act.at(cluster).expect_only("1.2.0", seconds=0)


def skip_staging(act: Act) -> None:
    """Let a hotfix into production that cannot wait until staging has proven it: the commit says what it skips."""
    act.git("pull")
    act.scene.remote.replace(ENVIRONMENTS_FILE, _PROVEN, _FOR_REAL)
    act.screen.edited(ENVIRONMENTS_FILE, f"{_FOR_REAL}, from now on")
    act.git("commit", "-am", "Two hours in staging")
    _release(act, "1.2.1")
    for cluster in (DEV, STAGING):
        act.at(cluster).expect_arrival("1.2.1")
    act.at(PROD).expect_only("1.1.0")
    hotfix = str(act.at(DEV).sight.status["active"]["release"]).split()[0]
    why = ("--skip", "staging", "-m", "INC-4711: orders are lost")
    act.screen.output(act.commit_with_verb("enter", str(APP), "--release", hotfix, "--into", "prod", *why))
    act.at(PROD).expect_arrival("1.2.1")
    act.git("pull")
    act.screen.output(act.git("log", "-1", "--format=%B", "--", f"{folder_of(APP)}/prod/release.yaml"))


def count_requests(act: Act) -> None:
    """Look at what is where, and count the requests that failed in each cluster: none."""
    act.screen.output(act.gitops_bg("environments"))
    for cluster in (DEV, STAGING, PROD):
        _expect_no_failure(act.at(cluster))


ENVIRONMENTS_STORY = Story(
    "gitops-bg demo environments: three clusters, an agent each, and one repository as the only place where they meet",
    bare_folder,
    (
        Step("Three environments: the first version goes all the way", deploy),
        Step("One push: it serves in each environment once the one before has proven it", push_tag),
        Step("An agent is killed half way: nothing goes through until it is back", kill_an_agent),
        Step("Rollback in production: the others stay", roll_back),
        Step("A hotfix: it skips staging, and says so", skip_staging),
        Step("All requests were answered", count_requests),
    ),
    clusters={DEV: "dev", STAGING: "staging", PROD: "prod"},
)


def _release(act: Act, tag: str) -> None:
    act.git("pull")
    release(act, tag)


def _agent_of(act: Act) -> AgentProcess:
    agent = act.cluster.agent
    if not isinstance(agent, AgentProcess):
        raise NotAsExpected(f"the agent of {act.cluster.name} is no process of its own")
    return agent


def _last_in_ledger(act: Act) -> str:
    moves = ledger.switches(act.scene.remote, act.cluster, APP)
    return moves[-1].went_to if moves else ""


def _expect_no_failure(act: Act) -> None:
    traffic = act.cluster.traffic
    act.expect(f"0 of {len(traffic)} requests failed", lambda: not traffic.failures())


def _came_into(act: Act, environment: str) -> str:
    return act.scene.remote.text("main", f"{folder_of(APP)}/{environment}/{RELEASE_FILE}")

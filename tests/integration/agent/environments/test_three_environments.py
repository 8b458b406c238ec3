"""One push travels from dev to production: three clusters, an agent each, and one repository as the only place where
they meet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from html import unescape
from pathlib import Path

import httpx
import pytest

from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.web.dashboard.app import dashboard_server
from tests.support.cluster.clusters import SandboxCluster
from tests.support.command_line import Cli
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, scenario
from tests.support.waiting import eventually

NAMES = ("dev", "staging", "prod")
ENVIRONMENTS = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: Environments
environments:
- {name: dev, clusters: [dev-1], autoPromotionEnabled: true}
- {name: staging, clusters: [staging-1], autoPromotionEnabled: true}
- name: prod
  clusters: [prod-1]
  after: {proven: 30m}
  enter: ENTER
  autoPromotionEnabled: true
"""


@dataclass
class Travel:
    """The app `web` in all three environments."""

    remote: GitRemote
    dev: App
    staging: App
    prod: App

    @property
    def all(self) -> tuple[App, App, App]:
        """In order."""
        return self.dev, self.staging, self.prod

    def look(self) -> None:
        """Have every agent that runs look at Git."""
        for app in self.all:
            app.scenario.wake()

    def wait_live(self, app: App, tag: str) -> None:
        """Wait until a tag is live in an environment; the agents look at Git again and again meanwhile."""

        def is_live() -> bool:
            self.look()
            return app.live_tag() == tag

        app.wait(is_live, f"{tag} is live in {app.scenario.settings.repository.cluster}", 60)

    def settle(self) -> None:
        """Until no agent has anything left to do, and each has seen what the others wrote."""
        for _ in range(3):
            for app in self.all:
                if app.scenario.agent is not None:
                    app.scenario.wake()
                    app.scenario.wait_idle()

    def release(self, environment: str, ref: str = "main") -> str:
        """The text of an environment's release.yaml; empty where nothing came in."""
        return self.remote.show(ref, f"{self.dev.folder}/{environment}/release.yaml") or ""

    def ledger(self, cluster: str) -> str:
        """All messages of a ledger."""
        name = f"gitops-bg/state/{cluster}"
        if self.remote.head(name) is None:
            return ""
        return self.remote.run("log", "--format=%B", name, cwd=self.remote.bare)


def publish_environments(travel: Travel, enter: str = "auto") -> None:
    files: dict[str, str | None] = {"environments.yaml": ENVIRONMENTS.replace("ENTER", enter)}
    for size, name in enumerate(NAMES, 1):
        files[f"{travel.dev.folder}/{name}/overlay.yaml"] = f"spec: {{replicas: {size}}}\n"
    travel.dev.scenario.publish("Environments", files)


@pytest.fixture
def travel(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Travel]:
    """Three clusters with one remote, all agents run, v1 pushed."""
    with ExitStack() as stack:
        remote = GitRemote(tmp_path / "git")
        namespace = sandbox_cluster.namespace()
        apps = []
        for name in NAMES:
            folder = tmp_path / f"cluster-{name}"
            folder.mkdir()
            cluster = stack.enter_context(SandboxCluster.run(folder))
            cluster.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            settings = RepositorySettings(url=remote.url, directory=tmp_path / name / "mirror", cluster=f"{name}-1")
            made = scenario(cluster, tmp_path / name, namespace=namespace, remote=remote, repository=settings)
            apps.append(stack.enter_context(made).app())
        yield Travel(remote, *apps)


def start(travel: Travel) -> None:
    for app in travel.all:
        app.scenario.start()


def soak(app: App, seconds: float) -> None:
    """Let time go on in a cluster."""
    for _ in range(10):
        app.scenario.advance(seconds / 10)
        app.scenario.wait_idle()


def all_live(travel: Travel, tag: str) -> None:
    """Bring a tag to production."""
    travel.wait_live(travel.dev, tag)
    travel.wait_live(travel.staging, tag)
    travel.settle()
    soak(travel.staging, 1900)
    travel.wait_live(travel.prod, tag)


def reach_all(travel: Travel) -> None:
    """Deploy v1 everywhere."""
    publish_environments(travel)
    travel.dev.add("v1")
    start(travel)
    all_live(travel, "v1")


def reach_staging(travel: Travel) -> str:
    """Deploy v1 everywhere, and v2 in dev and staging; return the commit of v2."""
    reach_all(travel)
    pushed = travel.dev.push_image("v2")
    travel.wait_live(travel.staging, "v2")
    travel.settle()
    return pushed


def test_one_push_travels_to_production_and_what_comes_in_is_the_same_everywhere(travel: Travel) -> None:
    publish_environments(travel)
    travel.dev.add("v1")
    start(travel)
    travel.wait_live(travel.dev, "v1")
    travel.wait_live(travel.staging, "v1")
    travel.settle()
    assert travel.prod.live_tag() == ""
    assert travel.release("prod") == ""
    soak(travel.staging, 1000)
    travel.settle()
    assert travel.release("prod") == ""
    soak(travel.staging, 900)
    travel.wait_live(travel.prod, "v1")
    assert travel.release("staging") == travel.release("prod") != ""
    assert "Bg-Event: proven" in travel.ledger("staging-1")
    assert "Bg-Release: r1 r1:" in travel.ledger("staging-1")
    assert "Bg-Event: proven" not in travel.ledger("prod-1")

    travel.dev.push_image("v2")
    all_live(travel, "v2")
    assert travel.release("staging") == travel.release("prod")
    subjects = [each.subject for each in travel.remote.log("main")]
    assert [each for each in subjects if "take" in each][:2] == [
        "web: take r2 in prod [prod-1]",
        "web: take r2 in staging [staging-1]",
    ]


def test_a_rollback_in_production_stays_there_and_keeps_its_release_out(travel: Travel) -> None:
    reach_all(travel)
    travel.dev.push_image("v2")
    all_live(travel, "v2")

    def promotion() -> str:
        path = f"{travel.dev.folder}/prod/primary.yaml"
        return travel.remote.run("log", "-1", "--format=%H", "main", "--", path, cwd=travel.remote.bare).strip()

    travel.prod.revert(promotion())
    travel.wait_live(travel.prod, "v1")
    travel.settle()
    assert (travel.dev.live_tag(), travel.staging.live_tag(), travel.prod.live_tag()) == ("v2", "v2", "v1")
    travel.dev.push_image("v3")
    all_live(travel, "v3")


def test_an_agent_that_is_dead_lets_nothing_through(travel: Travel) -> None:
    reach_staging(travel)
    travel.staging.scenario.stop()
    travel.prod.scenario.advance(24 * 3600)
    travel.dev.scenario.advance(24 * 3600)
    travel.settle()
    assert travel.prod.live_tag() == "v1"
    waits = [each["reason"] for each in travel.prod.status["waits"] if each["gate"] == "release"]
    assert len(waits) == 1
    assert waits[0].startswith("r2 waits for staging: it serves in staging-1 since ")
    assert "staging-1's agent last wrote at " in waits[0]


def test_a_release_that_people_are_to_merge_is_offered_once_and_comes_in_by_the_merge(travel: Travel) -> None:
    publish_environments(travel, "pullRequest")
    travel.dev.add("v1")
    start(travel)
    travel.wait_live(travel.staging, "v1")
    travel.settle()
    soak(travel.staging, 1900)
    branch = f"gitops-bg/enter/prod/{travel.dev.scenario.namespace}/web"

    def is_offered() -> bool:
        travel.look()
        return travel.remote.head(branch) is not None

    eventually(is_offered, what="the release is offered")
    head = travel.remote.head(branch)
    travel.settle()
    assert travel.remote.head(branch) == head
    assert travel.release("prod") == ""
    assert travel.release("prod", branch) == travel.release("staging")
    travel.remote.merge(branch)
    travel.wait_live(travel.prod, "v1")

    def is_gone() -> bool:
        travel.look()
        return travel.remote.head(branch) is None

    eventually(is_gone, what="the branch is gone")


def test_what_is_where_is_read_from_git_alone(travel: Travel, tmp_path: Path) -> None:
    pushed = reach_staging(travel)
    cli = Cli(travel.remote, travel.prod.scenario.cluster.kubeconfig, tmp_path / "cli")
    (item,) = cli.json("environments")["items"]
    serves = {each["environment"]: [one["release"] for one in each["serves"]] for each in item["environments"]}
    assert serves == {"dev": ["r2"], "staging": ["r2"], "prod": ["r1"]}
    prod = item["environments"][2]
    assert prod["waits"].startswith("r2 waits for staging: it serves in staging-1 since ")
    states = {each["environment"]: each["state"] for each in cli.json("where", pushed)["items"]}
    assert states["dev"].startswith("serves in dev-1 since ")
    assert states["prod"].startswith("not there: r2 waits for staging")
    items = [cli.json("where", each)["items"] for each in ("v2", "r2", pushed[:10], "registry.example/web:v2")]
    assert items == [items[0]] * 4
    assert "staging-1's agent last wrote at" in cli("environments", "web")


def test_a_hotfix_passes_by_an_environment_and_says_so(travel: Travel, tmp_path: Path) -> None:
    reach_staging(travel)
    cli = Cli(travel.remote, travel.prod.scenario.cluster.kubeconfig, tmp_path / "cli")
    said = cli("enter", "web", "--release", "r2", "--into", "prod", "-m", "INC-4711", code=1)
    assert "r2 is not proven before prod: staging: it serves in staging-1 since" in said
    assert "--skip staging" in said
    asked = ("enter", "web", "--release", "r2", "--into", "prod", "--skip", "staging", "-m", "INC-4711")
    head = travel.remote.head()
    assert "would let r2 of" in cli(*asked, "--dry-run")
    assert travel.remote.head() == head
    made = cli.json("enter", "web", "--release", "r2", "--into", "prod", "--skip", "staging", "-m", "INC-4711")
    assert (made["changed"], made["branch"], made["skipped"]) == (True, "", ["staging"])
    travel.wait_live(travel.prod, "v2")
    message = travel.remote.run("log", "-1", "--format=%B", made["commit"], cwd=travel.remote.bare)
    assert message.startswith("web: take r2 in prod")
    assert "Bg-Skipped: staging\n" in message
    assert "Bg-Reason: INC-4711\n" in message
    assert travel.release("prod") == travel.release("staging")
    travel.settle()
    assert travel.prod.live_tag() == "v2"


def test_a_release_on_hold_everywhere_comes_into_no_further_environment(travel: Travel, tmp_path: Path) -> None:
    reach_staging(travel)
    cli = Cli(travel.remote, travel.prod.scenario.cluster.kubeconfig, tmp_path / "cli")
    head = travel.remote.head()
    said = cli("hold", "web", "--release", "r2", "--everywhere", "--reason", "loses orders", "--dry-run")
    assert "heldReleases" in said
    assert travel.remote.head() == head
    assert cli.json("hold", "web", "--release", "r2", "--everywhere", "--reason", "loses orders")["changed"]
    soak(travel.staging, 1900)
    travel.settle()
    assert (travel.staging.live_tag(), travel.prod.live_tag()) == ("v2", "v1")
    waits = [each["reason"] for each in travel.prod.status["waits"] if each["gate"] == "release"]
    assert [each.startswith("r2 is on hold: r2: loses orders") for each in waits] == [True]
    (item,) = cli.json("environments")["items"]
    shown = item["environments"][2]
    assert (shown["entersNow"], shown["waits"]) == (None, waits[0])
    cli("hold", "web", "--release", "r2", "--lift")
    travel.wait_live(travel.prod, "v2")


def test_the_dashboard_shows_all_environments(travel: Travel) -> None:
    reach_staging(travel)
    agent = travel.prod.scenario.agent
    assert agent is not None
    with dashboard_server(agent, "127.0.0.1", 0) as server:

        def ask() -> httpx.Response:
            return httpx.get(f"{server.url}/environments", trust_env=False, timeout=20)

        eventually(lambda: ask().status_code == 200, what="the ledgers are fetched")
        shown = " ".join(unescape(re.sub(r"<[^>]*>", " ", ask().text)).split())
    assert re.search(r"App dev staging prod \S+/ web r2, proven since .* r2 since .* r1 since .* r2 waits for", shown)


def test_the_command_line_explains_what_an_environment_waits_for(travel: Travel, tmp_path: Path) -> None:
    reach_staging(travel)
    cli = Cli(travel.remote, travel.prod.scenario.cluster.kubeconfig, tmp_path / "cli")
    said = cli("explain", str(travel.prod.key))
    assert "r2 waits for staging: it serves in staging-1 since" in said
    assert "does not count" not in said

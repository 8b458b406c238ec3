"""Analyses of release groups with a running agent: what is measured over HTTP moves a group, keeps it, or takes it
back with a commit.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from gitops_bg.core import names
from tests.support.cluster.paths import jobs
from tests.support.groups import API, Store
from tests.support.scenario import Scenario
from tests.support.servers.backend import Asked, Backend, Reply, serving
from tests.support.waiting import eventually

PRE, POST = "prePromotionAnalysis", "postPromotionAnalysis"


class Measured:
    """A metric backend that answers by the stage and the version that it is asked about."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.finds: dict[str, bool] = {}
        """By stage: what it finds; nothing while it is starting."""
        backend.answer = self._answer

    def _answer(self, asked: Asked) -> Reply:
        found = self.finds.get(asked.path.split("/")[1])
        return Reply({"message": "starting"}, 503) if found is None else Reply({"ok": found})

    @property
    def paths(self) -> list[str]:
        return sorted({asked.path for asked in self.backend.asked})


@pytest.fixture
def measured() -> Iterator[Measured]:
    with serving() as backend:
        yield Measured(backend)


@pytest.fixture
def store(world: Scenario, measured: Measured) -> Store:
    """The store, whose versions are measured before and after their promotion."""
    found = Store(world)
    for stage in (PRE, POST):
        url = f"{measured.backend.url}/{stage[:-17]}/{{{{args.group}}}}/{{{{args.version}}}}/{{{{args.formerVersion}}}}"
        metric = {
            "name": "ok",
            "provider": {"web": {"url": url, "jsonPath": "{$.ok}"}},
            "successCondition": "result == true",
            "consecutiveErrorLimit": -1,
        }
        args = [{"name": name} for name in ("group", "version", "formerVersion")]
        head = {"apiVersion": API, "kind": "AnalysisTemplate", "metadata": {"name": stage.lower()}}
        template = yaml.safe_dump({**head, "spec": {"args": args, "metrics": [metric]}})
        world.remote.write(f"analysis/{stage}.yaml", template)
        found.spec[stage] = {"templates": [{"templateName": stage.lower()}]}
    found.begin()
    return found


def runs(store: Store) -> list[tuple[str, str, str]]:
    return [(each["stage"], each["version"], each["phase"]) for each in store.status().get("analysisRuns", ())]


def reasons(store: Store) -> list[str]:
    listed = store.world.cluster.list(f"/api/v1/namespaces/{store.world.namespace}/events")
    return [each["reason"] for each in listed if each["involvedObject"]["kind"] == "ReleaseGroup"]


def counted(store: Store, series: str, **labels: str) -> float | None:
    """A sample of the running agent about the group."""
    assert store.world.agent is not None
    ours = {"kind": "group", "namespace": store.world.namespace, "name": store.name}
    return store.world.agent.metrics.registry.get_sample_value(f"gitops_bg_{series}", {**ours, **labels})


def test_a_group_that_passes_moves_and_stays_and_goes_back_also_without_its_template(
    store: Store, measured: Measured
) -> None:
    measured.finds = {"pre": True, "post": True}
    store.activate("v2")
    store.wait("v1L v2A")
    assert measured.paths == ["/post/store/v2/v1", "/pre/store/v2/v1"]
    assert runs(store) == [("post", "v2", "Successful"), ("pre", "v2", "Successful")]
    eventually(lambda: reasons(store).count("AnalysisRunSuccessful") == 2, what="both verdicts are among its Events")
    assert counted(store, "switches_total", type="promotion") == 1
    assert counted(store, "resource_info", color="", version="v2", candidate="") == 1
    assert counted(store, "resource_phase", phase="Healthy") == 1
    for stage in ("pre", "post"):
        assert counted(store, "analysis_runs_total", stage=stage, phase="Successful") == 1
    assert counted(store, "analysis_measurements_total", provider="web", phase="Successful") == 2
    eventually(lambda: counted(store, "ledger_entries_waiting") == 0, what="the ledger has all of it")

    commit = store.world.publish("Lose a template", {f"analysis/{PRE}.yaml": None})
    eventually(lambda: store.status().get("phase") == "Invalid", what="the mistake is shown")
    assert f"there is no AnalysisTemplate {PRE.lower()} in analysis/" in store.condition("InvalidSpec")["message"]
    store.activate("v1")
    eventually(lambda: store.stages() == "v1A v2C", what="it goes back")
    store.world.pull()
    store.world.remote.revert(commit)
    store.world.push()
    store.wait("v1A v2C")


def test_a_group_that_fails_after_its_promotion_goes_back_and_git_says_so(store: Store, measured: Measured) -> None:
    measured.finds = {"pre": True}
    store.activate("v2")
    eventually(lambda: ("post", "v2", "Running") in runs(store), what="what serves is measured")
    assert (store.stages(), store.ask("/cart")) == ("v1L v2A", "cart-v2")
    head = store.world.remote.head()
    measured.finds["post"] = False
    store.wait("v1A v2C")
    assert (store.ask("/cart"), store.selected("cart")) == ("cart-v1", store.selected("cart-v1"))
    store.world.pull()
    written = yaml.safe_load((store.world.remote.clone / store.folder / "group.yaml").read_text())
    assert written["spec"]["active"] == "v1"
    message = store.world.remote.run("log", "-1", "--format=%B")
    assert message.startswith("store: roll back v2 → v1 [test]\n\nReason: post-promotion analysis failed: ok ")
    assert store.world.remote.run("rev-parse", "HEAD~1").strip() == head, "one commit"
    move = store.status()["history"][0]
    assert (move["kind"], move["target"], move["reason"][:30]) == ("Rollback", "v1", "post-promotion analysis failed")


def test_where_main_is_protected_the_former_version_serves_and_the_group_says_what_to_do(
    store: Store, measured: Measured
) -> None:
    measured.finds = {"pre": True}
    store.activate("v2")
    eventually(lambda: ("post", "v2", "Running") in runs(store), what="what serves is measured")
    store.world.remote.protect()
    measured.finds["post"] = False
    eventually(lambda: store.condition("Diverged")["reason"] == "MainRefusesCommit", what="main refuses")
    store.wait("v1A v2C", "Held")
    assert store.ask("/cart") == "cart-v1"
    branch = f"gitops-bg/promote-groups/{store.world.namespace}/store"
    said = f"merge {branch}, which sets active: v1 in group.yaml, because the agent cannot: "
    eventually(lambda: said in store.condition("Ready")["message"], what="the branch is named")
    store.world.remote.merge(branch)
    store.world.wake()
    store.wait("v1A v2C")
    assert store.condition("Diverged")["status"] == "Absent"
    eventually(lambda: store.world.remote.head(branch) is None, what="the branch that main has is gone")


def test_the_branch_that_offers_a_way_back_goes_with_the_folder_of_the_group(store: Store, measured: Measured) -> None:
    remote, branch = store.world.remote, f"gitops-bg/promote-groups/{store.world.namespace}/store"
    measured.finds = {"pre": True}
    store.activate("v2")
    eventually(lambda: ("post", "v2", "Running") in runs(store), what="what serves is measured")
    remote.protect()
    measured.finds["post"] = False
    eventually(lambda: remote.head(branch), what="the way back is offered")
    store.wait("v1A v2C", "Held")
    remote.unprotect()
    store.world.pull()
    store.world.publish("The store moves", {store.folder: None})
    eventually(lambda: remote.head(branch) is None, what="nobody is asked to merge it any more")
    assert store.ask("/cart") == "cart-v1"


def test_an_agent_that_is_restarted_goes_on_with_the_analyses_whatever_mistake_is_in_group_yaml(
    store: Store, measured: Measured
) -> None:
    store.activate("v2")
    eventually(lambda: ("pre", "v2", "Running") in runs(store), what="the candidate is measured")
    store.world.stop()
    measured.finds["pre"] = True
    store.world.start()
    eventually(lambda: ("post", "v2", "Running") in runs(store), what="what serves is measured")
    store.world.publish("A mistake", {f"{store.folder}/group.yaml": "kind: ReleaseGroup\nspec: [\n"})
    eventually(lambda: store.condition("InvalidSpec")["status"] == "True", what="the mistake is shown")
    store.world.stop()
    measured.finds["post"] = False
    store.world.start()
    eventually(lambda: store.stages() == "v1A v2C", what="it goes back")
    assert (store.ask("/cart"), store.selected("cart")) == ("cart-v1", store.selected("cart-v1"))
    assert store.condition("InvalidSpec")["status"] == "True"
    assert store.record["rollout"] == 1, "nothing began anew"
    assert [each["kind"] for each in store.status()["history"]] == ["Rollback", "Promotion"]


def test_a_group_is_measured_by_a_job_of_its_own_that_goes_with_it(world: Scenario) -> None:
    container = {
        "name": "check",
        "image": "registry.example/check:v1",
        "command": ["true"],
        "args": ["{{args.version}}"],
    }
    pod = {"restartPolicy": "Never", "containers": [container]}
    metric = {"name": "check", "provider": {"job": {"spec": {"backoffLimit": 0, "template": {"spec": pod}}}}}
    head = {"apiVersion": API, "kind": "AnalysisTemplate", "metadata": {"name": "check"}}
    store = Store(world)
    template = yaml.safe_dump({**head, "spec": {"args": [{"name": "version"}], "metrics": [metric]}})
    world.remote.write("analysis/check.yaml", template)
    store.spec[PRE] = {"templates": [{"templateName": "check"}]}
    store.begin()
    store.activate("v2")
    store.wait("v1L v2A")
    (job,) = world.cluster.list(jobs(world.namespace))
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], job["metadata"]["labels"][names.RELEASE_GROUP]) == (
        "ReleaseGroup",
        "store",
        "store",
    )
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == ["v2"]

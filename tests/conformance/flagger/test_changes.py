"""Flagger's table of what counts as a change of the target, and that its checksum is stable."""

import json
from collections.abc import Callable
from typing import Any

import yaml

from gitops_bg.core import names
from tests.conformance.steps import rollouts
from tests.support.cluster.paths import replica_sets
from tests.support.scenario import App


def _set_image(target: dict[str, Any]) -> None:
    target["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/web:v2"


def _set_env(target: dict[str, Any]) -> None:
    target["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "LEVEL", "value": "debug"}]


def _annotate_pods(target: dict[str, Any]) -> None:
    target["spec"]["template"]["metadata"]["annotations"] = {"example.com/restarted": "now"}


def _set_grace_period(target: dict[str, Any]) -> None:
    target["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 5


def _scale(target: dict[str, Any]) -> None:
    target["spec"]["replicas"] = 3


def _set_strategy(target: dict[str, Any]) -> None:
    target["spec"]["strategy"] = {"type": "Recreate"}


def _label_workload(target: dict[str, Any]) -> None:
    target["metadata"]["labels"] = {"team": "shop"}


def _write_empty_maps(target: dict[str, Any]) -> None:
    target["spec"]["template"]["spec"]["nodeSelector"] = {}


def test_flagger_has_target_changed_by_anything_in_the_pod_template(web: App) -> None:
    """Image, environment, annotation of the pods, grace period: a new version and one rollout."""
    for number, change in enumerate((_set_image, _set_env, _annotate_pods, _set_grace_period), start=2):
        _change(web, change)
        web.wait_told("candidate", times=number)
        assert [one["version"] for one in rollouts(web)] == list(range(number, 0, -1))


def test_flagger_has_target_changed_by_nothing_else(web: App) -> None:
    """Replicas, the workload's strategy and labels, an empty map: no version, no rollout, no ledger entry."""
    web.scenario.settle()
    before = (rollouts(web), web.ledger_events())
    for change in (_scale, _set_strategy, _label_workload, _write_empty_maps):
        commit = _change(web, change)
        web.scenario.wait_idle()
        assert web.scenario.remote.head() == commit
        assert (rollouts(web), web.ledger_events()) == before
        assert len(web.versions()) == 1


def _change(web: App, change: Callable[[dict[str, Any]], None]) -> str:
    target = yaml.safe_load(web.target_yaml("v1"))
    change(target)
    return web.scenario.publish("change the target", {f"{web.folder}/target.yaml": yaml.safe_dump(target)})


def test_flagger_checksum_stability_through_formatting_and_restarts(web: App) -> None:
    """Other order, quotes, comments, flow style, an agent with a new mirror: same digest, no write, no rollout."""
    world = web.scenario
    world.settle()
    digest, book = web.versions()["v1"].digest, rollouts(web)
    target = yaml.safe_load(web.target_yaml("v1"))
    turned = {key: target[key] for key in reversed(target)}
    text = f"# the same\n{json.dumps(turned, indent=3)}\n"
    world.publish("format the target", {f"{web.folder}/target.yaml": text})
    world.settle()
    before = world.writes()
    world.restart(fresh_mirror=True)
    world.wait_idle()
    assert world.writes() == before
    assert web.condition("InvalidSpec")["status"] == "Absent"
    assert (web.versions()["v1"].digest, rollouts(web)) == (digest, book)


def test_flagger_own_pods_of_affinity_and_spread_are_those_of_one_version(web: App) -> None:
    """Anti-affinity and spread by the target's own labels name the version in its ReplicaSet, and not in Git."""

    def spread(target: dict[str, Any]) -> None:
        own = {"labelSelector": target["spec"]["selector"]}
        spec = target["spec"]["template"]["spec"]
        spec["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", **own}
        ]
        term = {"topologyKey": "kubernetes.io/hostname", **own}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    _change(web, spread)
    web.wait_told("candidate", times=2)
    found = web.scenario.cluster.list(replica_sets(web.key.namespace))
    (new,) = (each for each in found if "affinity" in each["spec"]["template"]["spec"])
    spec = new["spec"]["template"]["spec"]
    terms = [
        *spec["topologySpreadConstraints"],
        *spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"],
    ]
    digest = new["metadata"]["labels"][names.DIGEST]
    assert [each["labelSelector"]["matchLabels"][names.DIGEST] for each in terms] == [digest, digest]
    assert names.DIGEST not in new["metadata"]["annotations"][names.SNAPSHOT]

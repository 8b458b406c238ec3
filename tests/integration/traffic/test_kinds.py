"""The kinds of workload that users bring: each is taken over, promoted and rolled back while people use it.

Six are adopted, a DaemonSet begins as an app of ours; what becomes of the old pods, and how each of the six ends, is in
the table `kinds.KINDS`. All at once, through the Gateway of their namespace: the sandbox's, and Traefik in front of a
real control plane. Agents die in the middle of the adoptions and of the ends; two of the Services stay in Argo CD, and
somebody adds to what serves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import urllib3

from gitops_bg.core import names
from gitops_bg.core.checks.pods import LATE
from tests.integration.traffic.conftest import GatewayCluster
from tests.integration.traffic.gateway_users import Load
from tests.integration.traffic.kinds import (
    DELAY,
    GOES_BACK,
    IN_ARGO_CD,
    KINDS,
    NOT_OURS,
    OLD,
    REPLICAS,
    Brought,
    OnEveryNode,
    Routed,
    on_the_host,
    spread,
)
from tests.integration.traffic.recipes import argo_cd
from tests.integration.traffic.stage import stage
from tests.support.agent.mortality import Mortals
from tests.support.cluster.argo_cd import ArgoCd, Sync
from tests.support.cluster.gateway_api import install_gateway_api, open_gateway
from tests.support.cluster.paths import collection, path_of, pods, replica_sets, services
from tests.support.command_line import Cli
from tests.support.scenario import App, Scenario, scenario
from tests.support.sightings import Sightings
from tests.support.waiting import eventually, stretched

DIES_AFTER = 25
"""Writes of an agent: six adoptions, or ends, need some ten each."""


class Story(NamedTuple):
    """Six Deployments with their Services answer; no agent runs."""

    world: Scenario
    apps: list[Brought]
    load: Load
    seen: Sightings
    argo: ArgoCd

    def named(self, *ends: str) -> list[Brought]:
        """The apps that end so."""
        return [app for app in self.apps if app.end in ends]


@contextmanager
def serving(gateway: GatewayCluster, folder: Path) -> Iterator[Story]:
    """People use the six; two of their Services are in Argo CD, with self-heal."""
    with scenario(gateway, folder) as world:
        install_gateway_api(gateway)
        open_gateway(gateway, world.namespace)
        apps = [Brought(world, name) for name in KINDS]
        rules = [argo_cd(name) for name in IN_ARGO_CD]
        sync = Sync(tuple(rule for each in rules for rule in each.ignored), rules[0].options)
        argo = ArgoCd(gateway, [app.of_a_chart() for app in apps if app.name in IN_ARGO_CD], sync)
        argo.sync(argo.look())
        for app in apps:
            gateway.apply(app.deployment(), manager="kubectl")
            if app.name not in IN_ARGO_CD:
                gateway.apply(app.service(), manager="kubectl")
        load = Load(gateway, world.namespace, [app.request for app in apps], names.DIGEST)
        for app in apps:  # Traefik drops a whole Gateway for a route to a Service that has no pods yet.
            eventually(partial(gateway.ready_addresses, world.namespace, app.name), what=f"{app.name} has pods")
            gateway.apply(app.route(), manager="kubectl")
        load.until_answered()
        with Sightings(gateway, world.namespace) as seen, load.running(), argo.healing():
            expect(load, apps, OLD)
            load.answers.clear()
            yield Story(world, apps, load, seen, argo)


def be_adopted(story: Story) -> None:
    """An agent dies in the middle, and another one goes on."""
    agents = Mortals(story.world, writes=DIES_AFTER, mortal=1)
    for app in story.apps:
        app.add("v1")
    agents.until(lambda: all(app.live_tag() == "v1" and app.record.adopted for app in story.apps), "all are taken over")
    assert agents.deaths == 1
    waiting = [app for app in story.apps if app.scale_down == "onSuccess"]
    for app in waiting:
        app.wait(lambda app=app: app.condition("Adopting")["reason"] == "OldPodsStay", "its old pods stay for a while")
        assert size_of_deployment(app) == REPLICAS
    story.world.advance(DELAY + 1)
    for app in story.apps:
        app.wait(partial(is_adopted, app), "the adoption is over")
        assert size_of_deployment(app) == (REPLICAS if app.scale_down == "never" else 0), app.name
    expect(story.load, story.apps, "v1")
    lag = stretched(0.5)  # of the watch that saw it move
    for app in story.apps:
        before = story.seen.taken_over_at(app.name) - lag
        assert answered(story.load, app, before=before) <= {NOT_OURS}, app.name


def size_of_deployment(app: App) -> int:
    path = collection("apps/v1", "Deployment", app.key.namespace)
    return int(app.scenario.cluster.get(f"{path}/{app.name}")["spec"]["replicas"])


def is_adopted(app: App) -> bool:
    found = app.scenario.live(names.PLURAL, app.name)
    return bool(found) and app.condition("Adopting")["reason"] == "Adopted"


def expect(load: Load, apps: Sequence[Routed], tag: str) -> None:
    """From now on this version answers everybody, or what was there before ours."""
    wanted = {app.request: app.short(tag) if tag != OLD else NOT_OURS for app in apps}
    load.until(wanted)
    load.expect(wanted)


def answered(load: Load, app: Routed, *, before: float = math.inf, since: float = -math.inf) -> set[str]:
    """Who answered requests for an app that were sent in a time, or ever."""
    return {each.by for each in load.answers if each.path == app.path and since < each.sent < before}


def nodes_of(gateway: GatewayCluster, app: Routed, tag: str) -> list[str]:
    labels = ",".join(f"{key}={value}" for key, value in names.selector(app.key, app.digest(tag)).items())
    return [each["spec"]["nodeName"] for each in gateway.list(pods(app.key.namespace), labelSelector=labels)]


def waits_for_a_node(world: Scenario, app: Brought) -> None:
    """The version that was left is warm still, so that each node has a pod: it says so until those pods are gone."""
    app.wait(lambda: "v3" in app.versions() and app.versions()["v3"].replicas == REPLICAS, "its pods are wanted")
    world.advance(LATE.total_seconds())
    app.wait(lambda: app.condition("Progressing")["reason"] == "PodsUnschedulable", "it says what it waits for")
    assert "4 node(s) didn't have free ports" in app.condition("Progressing")["message"]
    world.advance(DELAY)


def add_on_every_node(gateway: GatewayCluster, world: Scenario, load: Load) -> OnEveryNode:
    """An app as a DaemonSet, with people who use it from now on."""
    app = OnEveryNode(world, "every-node")
    app.deploy("v1")
    gateway.apply(app.route(), manager="kubectl")
    load.until_answered(app.request)
    load.requests.append(app.request)
    expect(load, [app], "v1")
    return app


def commit_in_argo_cd(story: Story, team: str) -> None:
    """It has something to write: by the recipe no field of ours."""
    for app in story.apps:
        if app.name in IN_ARGO_CD:
            story.argo.push(app.of_a_chart(team))
    eventually(lambda: story.argo.is_well() and not story.argo.out_of_sync(story.argo.look()), what=f"sync {team}")


def add_by_hand(world: Scenario, apps: Sequence[Routed], adopted: Sequence[Brought]) -> None:
    """Somebody adds to what serves each app, its Service and the pods of its ReplicaSet; all of it goes again."""
    paths = {f"{services(world.namespace)}/{app.name}": {"spec": {"publishNotReadyAddresses": True}} for app in apps}
    everywhere = replica_sets(world.namespace)
    for app in adopted:
        selector = f"{names.APP}={app.name},{names.DIGEST}={app.short('v1')}"
        (live,) = world.cluster.list(everywhere, labelSelector=selector)
        paths[f"{everywhere}/{live['metadata']['name']}"] = {"spec": {"template": {"spec": {"hostIPC": True}}}}
    for path, change in paths.items():
        world.cluster.patch(path, change, fieldManager="kubectl-edit")

    def is_as_before(path: str) -> bool:
        spec = world.cluster.get(path)["spec"]
        return not (spec.get("publishNotReadyAddresses") or spec.get("template", {}).get("spec", {}).get("hostIPC"))

    for path in paths:
        eventually(lambda path=path: is_as_before(path), what=f"{path} is as before")


def end(story: Story, cluster: GatewayCluster, folder: Path) -> Routed:
    """All of them at once, and agents die in the middle. Returns the app that has another name now."""
    world, load = story.world, story.load
    (given_back,), (moved,) = story.named("release"), story.named("move")
    for app in story.named("delete"):  # Its users leave before it does.
        load.requests.remove(app.request)
        expect(load, [each for each in story.apps if each is not app], "v1")
        cluster.delete(path_of(app.route()))
        with urllib3.PoolManager(retries=False) as pool:
            eventually(lambda app=app: load.ask(pool, *app.request).status != 200, what="its route is gone")
    world.stop()
    given_back.spec["release"] = {"deployment": given_back.name}
    given_back.configure()
    gone = story.named("revertToTarget", "orphan", "delete", "keep")
    settings = f"apiVersion: {names.API_VERSION}\nkind: Settings\nmaxDeletedAppsPercent: 100\n"
    world.publish("Remove apps", {"gitops-bg.yaml": settings, **{app.folder: None for app in gone}})
    new = rename(world, moved, "proxied", folder)

    agents = Mortals(world, writes=DIES_AFTER, mortal=2)
    agents.until(lambda: given_back.condition("Released")["status"] == "True", "it is released")
    agents.until(lambda: is_adopted(new), "the Service of the former name is taken over")
    agents.until(lambda: moved.record.moved_at, "its pods are warm from then on")
    world.clock.ahead += timedelta(seconds=DELAY + 1)
    leaving = [moved, *story.named("revertToTarget", "orphan", "delete")]

    def have_left() -> bool:
        assert world.agent is not None
        world.agent.wake_all(world.agent.cluster.apps())
        return not any(world.live(names.PLURAL, app.name) for app in leaving)

    agents.until(have_left, "all have left that should")
    assert agents.deaths == 2
    return new


def rename(world: Scenario, app: Brought, name: str, folder: Path) -> Routed:
    """By `gitops-bg move`; the Service keeps its name, and whoever uses it notices nothing."""
    new = Routed(world, name)
    world.pull()
    cli = Cli(world.remote, world.cluster.kubeconfig, folder)
    cli("move", str(app.key), str(new.key), "--checkout", str(world.remote.clone))
    world.remote.run("add", "--all", "apps")
    world.remote.commit(f"Call {app.name} {name}")
    world.push()
    return new


def assert_ended(story: Story) -> None:
    """What each end leaves behind; of what is deleted nothing, once the garbage collector has been there."""
    story.world.wait_idle()
    for app in story.apps:
        stays = app.end in GOES_BACK or app.scale_down == "never"
        assert size_of_deployment(app) == (REPLICAS if stays else 0), app.name
    for app in story.named("release", "revertToTarget", "orphan", "keep"):
        ours = [each for each in app.versions().values() if each.replicas]
        assert bool(ours) is (app.end == "keep"), app.name
    (kept,), (orphan,) = story.named("keep"), story.named("orphan")
    assert kept.condition("FolderInMain")["reason"] == "Orphaned"
    left = story.world.cluster.list(replica_sets(story.world.namespace), labelSelector=f"!{names.APP}")
    assert [each["metadata"]["name"] for each in left if each["metadata"]["name"].startswith(orphan.name)]


def test_every_kind_is_taken_over_promoted_rolled_back_and_ends_as_its_owner_says_without_a_lost_request(
    gateway: GatewayCluster, tmp_path: Path
) -> None:
    with serving(gateway, tmp_path) as story:
        world, adopted, load, seen, argo = story
        be_adopted(story)
        taken_over = time.monotonic()
        commit_in_argo_cd(story, "adopted")
        apps = [*adopted, add_on_every_node(gateway, world, load)]

        merges = {}
        for app in apps:
            app.push_image("v2")
        for app in apps:
            app.wait_offered("v2")
            assert app.short("v2") not in answered(load, app), f"{app.name}: nobody has promoted it"
        for app in apps:
            merges[app] = app.merge_offer()
        for app in apps:
            app.wait_live("v2")
        commit_in_argo_cd(story, "promoted")
        expect(load, apps, "v2")
        for app in adopted:
            if app.pod in (on_the_host, spread):
                assert len(set(nodes_of(gateway, app, "v2"))) == REPLICAS, f"{app.name} is on one node"

        for app in apps:
            app.revert(merges[app])
        for app in apps:
            app.wait_live("v1")
        expect(load, apps, "v1")
        add_by_hand(world, apps, adopted)
        expect(load, apps, "v1")
        for app in apps:
            app.push_image("v3")
        for app in adopted:
            if app.pod is on_the_host:
                waits_for_a_node(world, app)
        for app in apps:
            app.wait_preview("v3")
        commit_in_argo_cd(story, "rolled back")
        expect(load, apps, "v1")
        leaving = time.monotonic()

        for app in story.named("delete"):  # Its Service goes along with its pods.
            seen.assert_traffic_was_safe(app.name)
        end(story, gateway, tmp_path)
        expect(load, story.named(*GOES_BACK), OLD)
        serve_on = [app for app in apps if app not in story.named(*GOES_BACK, "delete")]
        expect(load, serve_on, "v1")
        assert_ended(story)
        assert argo.syncs == [*IN_ARGO_CD] * 4, "its own changes, and no field of ours"
        for app in apps:
            before = {NOT_OURS} if app in adopted else set()
            assert answered(load, app) == before | {app.short("v1"), app.short("v2")}, app.name
            goes_back = app in story.named(*GOES_BACK)
            until = leaving if goes_back else math.inf
            assert NOT_OURS not in answered(load, app, before=until, since=taken_over), app.name
            if app not in story.named("delete"):
                seen.assert_traffic_was_safe(app.name, is_given_back=goes_back)
    failed = [each for each in load.answers if each.status != 200]
    assert not failed
    assert len(load.answers) > 500


def test_a_daemon_set_is_promoted_and_rolled_back_without_a_lost_request(tmp_path: Path) -> None:
    """The seventh kind, which is not adopted: on fresh and on kept connections, also to pods that go."""
    with stage(tmp_path) as on:
        on.world.start()
        on.web.workload = "DaemonSet"
        on.web.strategy["scaleDownDelaySeconds"] = DELAY
        on.web.deploy("v1")
        on.load.start()
        merge = on.web.promote("v2")
        on.wait_used("v2")
        on.judge("promotion", 0)
        on.world.advance(DELAY + 1)
        on.web.wait(lambda: not on.web.versions()["v1"].available, "v1 is taken off its nodes")
        mark = len(on.load)
        on.web.revert(merge)
        on.web.wait_live("v1")
        on.web.wait_told("rolled-back")
        on.judge("revert to a version on no node", mark)

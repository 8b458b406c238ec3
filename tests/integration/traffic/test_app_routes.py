"""People use an app through its route, with and without its header: none fails, and nobody meets a version unasked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import urllib3

from gitops_bg.core import names
from gitops_bg.core.model.version import short
from tests.integration.traffic.conftest import GatewayCluster
from tests.integration.traffic.gateway_users import Load
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.gateway_api import install_gateway_api, open_gateway
from tests.support.scenario import App, Scenario, scenario
from tests.support.waiting import eventually


def test_no_request_fails_or_goes_astray_through_a_promotion_and_a_rollback(
    gateway: GatewayCluster, tmp_path: Path
) -> None:
    with scenario(gateway, tmp_path) as world:
        install_gateway_api(gateway)
        open_gateway(gateway, world.namespace)
        world.start()
        web = world.app()
        web.strategy["routes"] = {"parentRefs": [{"name": "public"}]}
        web.deploy("v1")
        one, two = (short(web.digest(tag)) for tag in ("v1", "v2"))
        requests = [("/", ""), ("/", "candidate"), ("/", two), ("/", "v9")]
        load = Load(gateway, world.namespace, requests, names.DIGEST)
        load.until_answered()
        with load.running():
            load.expect({("/", ""): one, ("/", "candidate"): one, ("/", two): one, ("/", "v9"): one})
            web.push_image("v2")
            web.wait_preview("v2")
            load.until({("/", "candidate"): two, ("/", two): two})
            load.expect({("/", ""): one, ("/", "candidate"): two, ("/", two): two, ("/", "v9"): one})
            merge = web.merge_promotion("v2")
            web.wait_live("v2")
            load.until({("/", ""): two})
            load.expect({("/", ""): two, ("/", "candidate"): two, ("/", two): two, ("/", "v9"): two})
            web.revert(merge)
            web.wait_live("v1")
            load.until({("/", ""): one})
            load.expect({("/", ""): one, ("/", "v9"): one})
        assert {each.status for each in load.answers} == {200}
        assert load.answers


def test_a_mistake_in_where_requests_come_in_takes_no_traffic(tmp_path: Path) -> None:
    """Also in a suspended app, and where the mistake is there when the agent starts anew; nor does a younger route."""
    wrong: dict[str, object] = {"parentRefs": [{"name": "pubilc"}]}
    with SandboxCluster.run(tmp_path, traffic=True) as cluster, scenario(cluster, tmp_path) as world:
        install_gateway_api(cluster)
        open_gateway(cluster, world.namespace)
        world.start()
        web = world.app()
        right: dict[str, object] = {"parentRefs": [{"name": "public"}]}
        web.strategy["routes"] = right
        web.deploy("v1")
        one, two = (short(web.digest(tag)) for tag in ("v1", "v2"))
        load = Load(cluster, world.namespace, [("/", "")], names.DIGEST)
        load.until_answered()
        with load.running():
            web.strategy["routes"] = wrong
            web.configure()
            eventually(lambda: looked(world) and len(routes(world)) == 2, what="a Gateway is asked first")
            world.restart()
            eventually(lambda: looked(world) and not_taken(web), what="the status says so")
            load.expect({("/", ""): one})
            web.promote("v2")
            load.until({("/", ""): two})
            web.strategy["routes"] = {"parentRefs": [{"name": "public"}, {"name": "internal"}]}
            open_gateway(cluster, world.namespace, "internal")
            web.configure()
            eventually(lambda: looked(world) and parents(world) == {"public", "internal"}, what="the route has moved")
            eventually(lambda: looked(world) and routes(world) == ["web"], what="one route is left")
            load.expect({("/", ""): two})
            web.spec["suspend"] = {"reason": "an incident"}
            web.strategy["routes"] = wrong
            web.configure()
            for _ in range(5):
                looked(world)
            load.expect({("/", ""): two})
            assert routes(world) == ["web"]
            late = world.app("late")
            late.strategy["routes"] = right
            late.add()
            eventually(lambda: looked(world) and late.phase() == "Degraded", what="it says who has its requests")
            said = "HTTPRoute web of the app web has the requests / first: it says the same ones, and is older"
            assert (late.status["message"], late.condition("Conflict")["reason"]) == (said, "RequestsTaken")
            load.expect({("/", ""): two})
        assert {each.status for each in load.answers} == {200}


def test_the_candidate_has_an_address_of_its_own_which_no_other_version_ever_answers(
    gateway: GatewayCluster, tmp_path: Path
) -> None:
    with scenario(gateway, tmp_path) as world:
        install_gateway_api(gateway)
        open_gateway(gateway, world.namespace)
        world.start()
        web = world.app()
        web.strategy["routes"] = {"parentRefs": [{"name": "public"}], "hosts": ["shop.example.com"]}
        web.strategy["previewHosts"] = ["{digest}.preview.example.com", "preview.example.com"]
        web.deploy("v1")
        one, two, three = (short(web.digest(tag)) for tag in ("v1", "v2", "v3"))
        named = {digest: f"{digest}.preview.example.com" for digest in (one, two, three)}
        users = ByHost(gateway, world.namespace, ["shop.example.com", "preview.example.com", *named.values()])
        with users.running():
            users.until({"shop.example.com": one, "preview.example.com": "", named[one]: ""})
            begun = len(users.answers)
            web.push_image("v2")
            web.wait_preview("v2")
            users.until({"shop.example.com": one, "preview.example.com": two, named[two]: two})
            said = web.condition("CandidateReady")["message"]
            assert said == f"v2 (v2) is available, at http://{named[two]}/"
            web.push_image("v3")
            web.wait_preview("v3")
            users.until({"preview.example.com": three, named[three]: three, named[two]: ""})
            web.merge_promotion("v3")
            web.wait_live("v3")
            users.until({"shop.example.com": three, "preview.example.com": "", named[three]: ""})
            assert routes(world) == ["web"]
        for digest, host in named.items():
            assert {by for asked, by in users.answers if asked == host} <= {digest, ""}, "a digest means one version"
        live = {by for asked, by in users.answers[begun:] if asked == "shop.example.com"}
        assert live == {one, three}, "none is lost"


class ByHost:
    """Users who ask each host round after round; who answered is the short digest of the version, or nobody (404)."""

    def __init__(self, cluster: GatewayCluster, namespace: str, hosts: list[str]) -> None:
        self.url, self.hosts = cluster.gateway_url(namespace, "public"), hosts
        self.answers: list[tuple[str, str]] = []
        self._stop = Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        user = Thread(target=self._use)
        user.start()
        try:
            yield
        finally:
            self._stop.set()
            user.join()

    def until(self, wanted: dict[str, str]) -> None:
        """Wait until each of these hosts is answered by that version; empty: by nobody."""
        eventually(lambda: wanted.items() <= self._last().items(), what=f"{wanted}, and not {self._last()}")

    def _last(self) -> dict[str, str]:
        return dict(self.answers[-2 * len(self.hosts) :])

    def _use(self) -> None:
        with urllib3.PoolManager(retries=False) as pool:
            while not self._stop.wait(0.05):
                for host in self.hosts:
                    answer = pool.request("GET", self.url, headers={"Host": host}, timeout=20)
                    assert answer.status in (200, 404), (host, answer.status)
                    by = answer.json()["labels"][names.DIGEST] if answer.status == 200 else ""
                    self.answers.append((host, by))


def not_taken(web: App) -> bool:
    message = web.status.get("message") or ""
    return "stays at the Gateways and hosts of before" in message or "a Gateway refuses HTTPRoute" in message


def parents(world: Scenario) -> set[str]:
    live = world.cluster.find(f"/apis/gateway.networking.k8s.io/v1/namespaces/{world.namespace}/httproutes/web") or {}
    return {each["name"] for each in live["spec"]["parentRefs"]}


WARM = 60
"""``scaleDownDelaySeconds`` of the app."""


def routes(world: Scenario) -> list[str]:
    """The names of the routes of the namespace."""
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{world.namespace}/httproutes"
    return sorted(each["metadata"]["name"] for each in world.cluster.list(path))


def test_no_request_fails_while_the_app_gets_another_name(gateway: GatewayCluster, tmp_path: Path) -> None:
    """The route of the new name is there before the one of the former name goes, and that goes, too."""
    with scenario(gateway, tmp_path) as world:
        install_gateway_api(gateway)
        open_gateway(gateway, world.namespace)
        world.start()
        web = world.app()
        web.strategy |= {"routes": {"parentRefs": [{"name": "public"}]}, "scaleDownDelaySeconds": WARM}
        web.deploy("v1")
        one, two = (short(web.digest(tag)) for tag in ("v1", "v2"))
        requests = [("/", ""), ("/", "candidate"), ("/", two), ("/", "v9")]
        load = Load(gateway, world.namespace, requests, names.DIGEST)
        load.until_answered()
        with load.running():
            web.push_image("v2")
            web.wait_preview("v2")
            load.until({("/", "candidate"): two, ("/", two): two})
            shop = web.rename("shop")
            shop.wait(lambda: shop.condition("Adopting")["reason"] == "Adopted", "the Services are taken over")
            eventually(lambda: looked(world) and routes(world) == ["shop"], what="one route leads to them")
            assert world.live(names.PLURAL, "web"), "the pods of before stay warm"
            load.until({("/", "candidate"): two, ("/", two): two})
            load.expect({("/", ""): one, ("/", "candidate"): two, ("/", two): two, ("/", "v9"): one})
            world.advance(WARM + 1)
            eventually(lambda: looked(world) and not world.live(names.PLURAL, "web"), what="the former app is gone")
            load.expect({("/", ""): one, ("/", "candidate"): two, ("/", two): two, ("/", "v9"): one})
            assert routes(world) == ["shop"]
        assert {each.status for each in load.answers} == {200}
        assert {each.by for each in load.answers if each.version in ("", "v9")} == {one}


def looked(world: Scenario) -> bool:
    """An agent looks at every app, as its timers would have it."""
    assert world.agent is not None
    world.agent.wake_all(world.agent.cluster.apps())
    return True

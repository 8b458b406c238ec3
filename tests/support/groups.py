"""A release group as its users write it and see it, with a running agent."""

from __future__ import annotations

from typing import Any

import yaml

from gitops_bg.cluster.group_objects import read_route
from gitops_bg.cluster.manifests.stored_record import packed, unpacked
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import GroupKey
from tests.core.groups.gateway import DENIED, Request, answer
from tests.support.cluster.gateway_api import install_gateway_api, open_gateway
from tests.support.readings import entries_in
from tests.support.scenario import STATE_BRANCH, Scenario, condition_in
from tests.support.waiting import eventually

API = "gitops-bg.dev/v1alpha1"


class Store:
    """A group of a namespace, `store` by default, as its users write it and see it."""

    def __init__(self, world: Scenario, name: str = "store") -> None:
        install_gateway_api(world.cluster)
        open_gateway(world.cluster, world.namespace)
        world.remote.write("gitops-bg.yaml", f"apiVersion: {API}\nkind: Settings\n")
        self.world = world
        self.name = name
        self.folder = f"groups/{world.namespace}/{name}"
        self.spec: dict[str, Any] = {"active": "v1", "gateway": {"parentRefs": [{"name": "public"}]}}

    def group(self) -> dict[str, str | None]:
        metadata = {"name": self.name, "namespace": self.world.namespace}
        body = {"apiVersion": API, "kind": "ReleaseGroup", "metadata": metadata, "spec": self.spec}
        return {f"{self.folder}/group.yaml": yaml.safe_dump(body)}

    def version(self, name: str, *, tag: str = "", **services: str) -> dict[str, str | None]:
        """The folder of a version: services with their paths."""
        files: dict[str, str | None] = {}
        for service, paths in services.items():
            app = self.world.app(f"{service}-{name}")
            target = yaml.safe_load(app.target_yaml(tag or name))
            target["metadata"]["name"] = service
            live = {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": service},
                "spec": {"ports": [{"port": 80, "targetPort": "http"}]},
            }
            routes = [{"path": {"prefix": path}} for path in paths.split()]
            written = {
                "target.yaml": target,
                "service.yaml": live,
                "routes.yaml": {"apiVersion": API, "kind": "ServiceRoutes", "routes": routes},
            }
            files |= {f"{self.folder}/{name}/{service}/{file}": yaml.safe_dump(each) for file, each in written.items()}
        return files

    def activate(self, version: str) -> str:
        self.spec["active"] = version
        return self.world.publish(f"{self.name}: {version}", self.group())

    def status(self) -> dict[str, Any]:
        path = f"/apis/{API}/namespaces/{self.world.namespace}/releasegroups/{self.name}"
        found = self.world.cluster.find(path) or {}
        status: dict[str, Any] = found.get("status") or {}
        return status

    def shut_gates(self) -> list[dict[str, Any]]:
        """What keeps the promotion waiting, as the status says it."""
        return [each for each in self.status().get("gates", []) if not each["open"]]

    def delete(self) -> None:
        """What `kubectl delete releasegroup` does."""
        path = f"/apis/{API}/namespaces/{self.world.namespace}/releasegroups/{self.name}"
        assert self.world.cluster.request("DELETE", path)[0] == 200

    def look(self) -> None:
        """Have the agent look at the group now: what it has is not watched."""
        assert self.world.agent is not None
        self.world.agent.wake_all([GroupKey(self.world.namespace, self.name)])

    def delete_routes(self) -> None:
        """What somebody does to the HTTPRoute of the group."""
        path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{self.world.namespace}/httproutes/{self.name}"
        assert self.world.cluster.request("DELETE", path)[0] == 200

    def damage_record(self) -> None:
        """What leaves a record that nobody can read: another release, or somebody who edits it."""
        path = f"/apis/{API}/namespaces/{self.world.namespace}/releasegroups/{self.name}/status"
        body = {"status": {"record": packed({"state": "garbage"})}}
        self.world.cluster.ask("PATCH", path, body, content_type="application/merge-patch+json")

    @property
    def record(self) -> dict[str, Any]:
        """What the agent remembers of it, as it is stored."""
        return unpacked(self.status()) or {}

    def stages(self) -> str:
        return " ".join(f"{each['name']}{each['stage'][0]}" for each in self.status().get("versions", ()))

    def wait(self, stages: str, phase: str = "Healthy") -> None:
        def is_so() -> bool:
            assert (self.stages(), self.status().get("phase")) == (stages, phase), self.status()
            return True

        eventually(is_so, what=f"{stages} {phase}")

    def condition(self, kind: str) -> dict[str, Any]:
        return condition_in(self.status(), kind)

    def ledger(self) -> list[str]:
        """The events of this group on the state branch, oldest first."""
        remote = self.world.remote
        if not remote.bare.exists() or remote.head(STATE_BRANCH) is None:
            return []
        text = remote.run("log", "--reverse", "--format=%B", STATE_BRANCH, "--", cwd=remote.bare)
        name = f"{self.world.namespace}/{self.name}"
        return [entry["Event"] for entry in entries_in(text) if entry.get("Group") == name]

    def wait_for_ledger(self, event: str, times: int = 1) -> None:
        """Wait until Git has an event so many times, and the record has nothing more to say."""
        Event(event)  # Raises for a word that no event has, and that would be waited for in vain.
        told = lambda: self.ledger().count(event) == times and not self.record.get("ledger")  # noqa: E731
        eventually(told, what=f"{event} is in the ledger")

    def ask(self, path: str, version: str = "") -> str:
        """Which member answers by the live HTTPRoutes."""
        listed = self.world.cluster.list(
            f"/apis/gateway.networking.k8s.io/v1/namespaces/{self.world.namespace}/httproutes"
        )
        routes = [route for body in listed if (route := read_route(body)) is not None]
        found = answer(routes, Request(path, {"X-Version": version} if version else {}))
        return DENIED if found == "gitops-bg-deny" else found

    def selected(self, service: str) -> dict[str, str]:
        live = self.world.live("services", service)
        return dict(live["spec"]["selector"]) if live else {}

    def begin(self) -> None:
        """Two versions of cart, auth of the first one only; v1 serves. Starts an agent where none runs."""
        if self.world.agent is None:
            self.world.start()
        first, second = self.version("v1", cart="/cart /old", auth="/auth"), self.version("v2", cart="/cart /new")
        self.world.publish("The store", {**self.group(), **first, **second})
        self.wait("v1A v2C")

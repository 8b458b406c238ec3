"""A story with everything real: a Git remote, a running agent, a namespace of a cluster, and apps in it.

`Scenario` is the world and the agent's life; `App` has the verbs of a user (`push_image`, `merge_promotion`,
`revert` …) and what a user can see. After a push the agent is woken, as by a webhook, instead of waited for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.settings import AgentSettings
from gitops_bg.cluster.execution.operator_requests import annotation_of, requests_of
from gitops_bg.cluster.manifests.stored_record import unpacked
from gitops_bg.cluster.status import WHILE_NOTED
from gitops_bg.core import names
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, WorkloadKind
from gitops_bg.repo.ledger.ledger_file import path_of
from gitops_bg.spec.codec import from_json
from gitops_bg.spec.manifests.configuration import configuration_of, is_tracked, references
from tests.support.agent.agents import agent_settings
from tests.support.cluster import rights
from tests.support.cluster.clusters import TestCluster, Write
from tests.support.cluster.paths import collection, replica_sets
from tests.support.cluster.rawapi import Json
from tests.support.git.remote import GitRefused, GitRemote
from tests.support.readings import Version, entries_in, version_of
from tests.support.waiting import PATIENCE, eventually

STATE_BRANCH = "gitops-bg/state/test"
_FOR_EVENTS = 1.0
"""Seconds in which the Events of an agent with nothing left to do are written, where the API server is there."""


class Clock:
    """The machine's clock of an agent: the real time, and ahead of it by what a test says."""

    def __init__(self) -> None:
        self.ahead = timedelta()
        """How much time has gone by unseen."""
        self.set_by = timedelta()
        """By how much somebody has set the clock."""

    def __call__(self) -> datetime:
        return self.steady() + self.set_by

    def steady(self) -> datetime:
        """The clock that cannot be set."""
        return datetime.now(UTC) + self.ahead


class Scenario:
    """One Git remote and one namespace; `start` and `stop` are the life of the agent."""

    def __init__(self, cluster: TestCluster, namespace: str, remote: GitRemote, folder: Path, **settings: Any) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.remote = remote
        self.clock = Clock()
        self.agent: Agent | None = None
        self._folder = folder
        self._settings = settings

    @property
    def settings(self) -> AgentSettings:
        """What the agent is started with."""
        given = {"namespaces": (self.namespace,), "workers": 2, **self._settings}
        given.setdefault("kubeconfig", self.cluster.kubeconfig)
        return agent_settings(self._folder, self.remote.url, **given)

    def start(self, *, fresh_mirror: bool = False, prepare: Callable[[Agent], object] | None = None) -> Agent:
        """Start an agent; one with a `fresh_mirror` has never seen the remote. `prepare` sees it before it runs."""
        if fresh_mirror:
            self._folder = self._folder / "fresh"
        self.agent = Agent(self.settings, clock=self.clock, steady=self.clock.steady)
        if prepare is not None:
            prepare(self.agent)
        self.agent.start()
        return self.agent

    def stop(self) -> None:
        """Stop the agent, if there is one."""
        agent, self.agent = self.agent, None
        if agent is not None:
            agent.stop()

    def restart(self, **how: Any) -> Agent:
        """Stop the agent and start another one."""
        self.stop()
        return self.start(**how)

    def app(self, name: str = "web", environment: str = "") -> App:
        """An app of this namespace; nothing is written yet."""
        return App(self, name, environment)

    def elsewhere(self, namespace: str) -> Scenario:
        """Another namespace of the same repository, and of the agent that runs now."""
        other = Scenario(self.cluster, namespace, self.remote, self._folder)
        other.agent = self.agent
        return other

    def publish(self, message: str, files: Mapping[str, str | None]) -> str:
        """What a user does: pull, write (None: delete), commit, push; and a webhook. Returns the commit."""
        self.pull()
        self.remote.stage(files)
        self.remote.commit(message)
        return self.push()

    def pull(self) -> None:
        """Bring in what the agent and others pushed."""
        if self.remote.head():
            self.remote.pull()

    def push(self) -> str:
        """Push what is committed, after what others pushed meanwhile, and wake the agent. Returns the head."""
        try:
            self.remote.push(permit=True)
        except GitRefused:
            self.remote.pull()
            self.remote.push(permit=True)
        self.wake()
        return self.remote.tip

    def wake(self) -> None:
        """Have a running agent look at Git."""
        if self.agent is not None:
            self.agent.wake("a test")
            self.agent.poll_forge("a test")

    def advance(self, seconds: float) -> None:
        """Let the agent's time go on, and have it look at every app, as its timers would."""
        self.clock.ahead += timedelta(seconds=seconds)
        assert self.agent is not None
        self.agent.wake_all(self.agent.cluster.apps())

    def settle(self) -> None:
        """Wait until nothing is left to do, and a moment longer: what was only noted is saved as well."""
        self.wait_idle()
        self.advance(WHILE_NOTED.total_seconds())
        self.wait_idle()

    def wait_idle(self, timeout: float = PATIENCE) -> None:
        """Wait until the agent has read Git and has nothing left to do or to write; for its Events only a moment, since
        the API server may be away.
        """
        agent = self.agent
        assert agent is not None

        def idle() -> bool:
            busy = not agent.catalog.seen and not agent.catalog.unreachable
            return not busy and all(
                (agent.queue.idle, agent.git.idle, agent.measurements.idle, agent.queue.idle, agent.git.idle)
            )

        eventually(idle, timeout, what="the agent is idle")
        patient = time.monotonic() + _FOR_EVENTS
        eventually(lambda: agent.cluster.events.idle or time.monotonic() > patient, what="its Events are written")

    def writes(self) -> list[Write]:
        """Every write of the agent to this namespace so far, Events included."""
        return [write for write in self.cluster.writes() if f"/namespaces/{self.namespace}/" in write.path]

    def live(self, kind: str, name: str) -> Json | None:
        """A live object of this namespace by its plural (`services`, `replicasets`, `bluegreendeployments`)."""
        group = {"services": "/api/v1", "replicasets": "/apis/apps/v1"}.get(kind, f"/apis/{names.API_VERSION}")
        return self.cluster.find(f"{group}/namespaces/{self.namespace}/{kind}/{name}")

    def events(self) -> list[Json]:
        """The Kubernetes Events of this namespace."""
        return self.cluster.list(collection("v1", "Event", self.namespace))


class App:
    """One app: what its users do and see."""

    def __init__(self, scenario: Scenario, name: str, environment: str = "") -> None:
        self.scenario = scenario
        self.name = name
        self.key = AppKey(scenario.namespace, name)
        self.folder = f"apps/{scenario.namespace}/{name}"
        self.environment = environment
        """Of which environment it is seen; empty where the repository has none."""
        self.promotion_branch = names.promotion_branch(self.key, environment)
        self.replicas = 2
        self.workload = "ReplicaSet"
        """What runs its pods; `DaemonSet`: the target is one."""
        self.strategy: dict[str, Any] = {"autoPromotionEnabled": False, "scaleDownDelaySeconds": 300}
        self.spec: dict[str, Any] = {}
        self.container: dict[str, Any] = {}
        self.template: dict[str, Any] = {}
        self.objects: dict[str, dict[str, Any]] = {}
        """More manifests of the folder, by file name."""

    # --- what a user does -----------------------------------------------------------------------------------------

    def app_yaml(self) -> str:
        """app.yaml, as `strategy` and `spec` say."""
        head = {"activeService": self.name, "previewService": f"{self.name}-preview"}
        return _manifest(
            names.API_VERSION, names.KIND, self, {"strategy": {"blueGreen": head | self.strategy}, **self.spec}
        )

    def pod_template(self, tag: str) -> dict[str, Any]:
        """The pod template of a tag."""
        ports = [{"name": "http", "containerPort": 8080}]
        container = {"name": "web", "image": f"registry.example/{self.name}:{tag}", "ports": ports, **self.container}
        return {"metadata": {"labels": {"app": self.name}}, "spec": {"containers": [container]}, **self.template}

    def target_yaml(self, tag: str) -> str:
        """target.yaml with an image tag."""
        labels = self.pod_template(tag)["metadata"].get("labels", {})
        spec = {"selector": {"matchLabels": labels}, "template": self.pod_template(tag)}
        if self.workload == WorkloadKind.DAEMON_SET:
            return _manifest("apps/v1", "DaemonSet", self, spec)
        return _manifest("apps/v1", "Deployment", self, {"replicas": self.replicas, **spec})

    def add(self, tag: str = "v1", message: str = "") -> str:
        """Push the folder of a new app. Returns the commit."""
        return self.scenario.publish(message or f"Add {self.name}", self.files(tag))

    def files(self, tag: str) -> dict[str, str | None]:
        """The folder of a new app, by paths: several are there at once by one commit of all of theirs."""
        files = {f"{self.folder}/app.yaml": self.app_yaml(), f"{self.folder}/target.yaml": self.target_yaml(tag)}
        return files | {f"{self.folder}/{name}": yaml.safe_dump(each) for name, each in self.objects.items()}

    def deploy(self, tag: str = "v1") -> App:
        """A new app that is up, and in Git, and told in the ledger."""
        self.add(tag)
        self.wait_live(tag)
        self.wait_primary(tag)
        self.wait_told()
        return self

    def deploy_by_merge(self, tag: str = "v1") -> App:
        """As `deploy`, where main takes only merges."""
        self.add(tag)
        self.wait_live(tag)
        self.merge_promotion(tag)
        self.wait_primary(tag)
        self.wait_told("deployed")
        return self

    def configure(self) -> str:
        """Push app.yaml anew, after `strategy` or `spec` were changed."""
        return self.scenario.publish(f"{self.name}: settings", {f"{self.folder}/app.yaml": self.app_yaml()})

    def push_image(self, tag: str, message: str = "") -> str:
        """Push a new image tag. Returns the commit."""
        text = self.target_yaml(tag)
        return self.scenario.publish(message or f"{self.name} {tag}", {f"{self.folder}/target.yaml": text})

    def push_object(self, name: str, manifest: dict[str, Any], message: str = "") -> str:
        """Push another manifest of the folder, such as a ConfigMap. Returns the commit."""
        self.objects[name] = manifest
        return self.scenario.publish(
            message or f"{self.name}: {name}", {f"{self.folder}/{name}": yaml.safe_dump(manifest)}
        )

    def merge_promotion(self, tag: str) -> str:
        """Wait until the promotion of a tag is offered, and merge it. Returns the merge commit."""
        self.wait_offered(tag)
        return self.merge_offer()

    def merge_offer(self) -> str:
        """Merge the promotion branch as it is. Returns the merge commit."""
        commit = self.scenario.remote.merge(self.promotion_branch)
        self.scenario.wake()
        return commit

    def promote(self, tag: str) -> str:
        """Push an image, merge its promotion, and wait until it is live and told. Returns the merge commit."""
        return self.push_and_promote(tag)[1]

    def push_and_promote(self, tag: str) -> tuple[str, str]:
        """As `promote`; returns the commit of the push as well, before that of the merge."""
        pushed, merged = self.push_image(tag), self.merge_promotion(tag)
        self.wait_live(tag)
        self.wait_told()
        return pushed, merged

    def rename(self, name: str) -> App:
        """What `gitops-bg move` writes, in one commit: the app under another name, with its Services as they are."""
        new = App(self.scenario, name)
        services = {"activeService": self.name, "previewService": f"{self.name}-preview"}
        new.strategy, new.objects = services | self.strategy, deepcopy(self.objects)
        for manifest in new.objects.values():
            if "scaleTargetRef" in manifest.get("spec", {}):
                manifest["spec"]["scaleTargetRef"]["name"] = name
        new.spec = {**self.spec, "adopt": {"app": self.name}}
        self.scenario.pull()
        files: dict[str, str | None] = {self.folder: None, f"{new.folder}/app.yaml": new.app_yaml()}
        for file in ("target.yaml", "primary.yaml"):
            content = yaml.safe_load(self.scenario.remote.read(f"{self.folder}/{file}"))
            content["metadata"]["name"] = name
            files[f"{new.folder}/{file}"] = yaml.safe_dump(content)
        files |= {f"{new.folder}/{file}": yaml.safe_dump(each) for file, each in new.objects.items()}
        self.scenario.publish(f"Rename {self.name}", files)
        return new

    def revert(self, *commits: str) -> str:
        """`git revert` commits, in this order, in one push. Returns the head."""
        self.scenario.pull()
        for commit in commits:
            self.scenario.remote.revert(commit)
        return self.scenario.push()

    def ask(self, request: Request) -> None:
        """What `gitops-bg abort` and `rollback --offline` do, in a process of their own."""
        path = f"{collection(names.API_VERSION, names.KIND, self.key.namespace)}/{self.name}"
        waiting = requests_of((self.object()["metadata"].get("annotations") or {}).get(names.REQUEST, ""))
        others = [each for each in waiting if not self.record.operator.has_answered(each.id)]
        text = annotation_of([*others, request])
        self.scenario.cluster.patch(path, {"metadata": {"annotations": {names.REQUEST: text}}})

    def delete_object(self) -> None:
        """What `kubectl delete bgd` does."""
        path = f"{collection(names.API_VERSION, names.KIND, self.key.namespace)}/{self.name}"
        self.scenario.cluster.delete(path)

    def lose_record(self) -> None:
        """Delete the object, and with it the record; wait until the agent has made it anew, and is Healthy."""
        former = self.object()["metadata"]["uid"]

        def is_anew() -> bool:
            found = self.scenario.live(names.PLURAL, self.name)
            return found is not None and found["metadata"]["uid"] != former

        self.delete_object()
        self.wait(is_anew, "the object is made anew")
        self.wait_phase("Healthy")
        self.scenario.wait_idle()

    # --- what a user sees -----------------------------------------------------------------------------------------

    def digest(self, tag: str) -> str:
        """The digest of a tag, with the configuration that the folder has now."""
        template = self.pod_template(tag)
        tracked = [each for each in self.objects.values() if is_tracked(each, references(template))]
        held = (configuration_of(each["kind"], each["metadata"]["name"], each) for each in tracked)
        return snapshot_of(template, (each.ref for each in held), WorkloadKind(self.workload)).digest

    def selected(self, service: str = "") -> str:
        """The short digest that the active Service (or another) selects; empty where there is none."""
        found = self.scenario.live("services", service or self.name)
        return str((found or {}).get("spec", {}).get("selector", {}).get(names.DIGEST, ""))

    def versions(self) -> dict[str, Version]:
        """The ReplicaSets, or DaemonSets, of this app by image tag."""
        labels, place = f"{names.APP}={self.name}", collection("apps/v1", self.workload, self.scenario.namespace)
        found = self.scenario.cluster.list(place, labelSelector=labels)
        return {version.tag: version for version in map(version_of, found)}

    def replica_set(self, digest: str) -> Json:
        """The one ReplicaSet of a version, whatever its name."""
        labels = ",".join(f"{key}={value}" for key, value in names.selector(self.key, digest).items())
        (found,) = self.scenario.cluster.list(replica_sets(self.scenario.namespace), labelSelector=labels)
        return found

    def live_tag(self) -> str:
        """The image tag that live traffic goes to; empty where nothing serves."""
        return self._tag_of(self.selected())

    def preview_tag(self) -> str:
        """The image tag behind the preview Service."""
        return self._tag_of(self.selected(f"{self.name}-preview"))

    def offered(self) -> bool:
        """Whether there is a promotion branch."""
        return self.scenario.remote.head(self.promotion_branch) is not None

    @property
    def own_folder(self) -> str:
        """Where what its environment has of its own lies; where it is in none, its folder. Tests may move that."""
        return f"{self.folder}/{self.environment}".removesuffix("/")

    def primary_digest(self, ref: str = "") -> str:
        """The digest that main's `primary.yaml` (or another ref's) names; empty where there is none."""
        text = self.scenario.remote.show(ref or self.scenario.remote.branch, f"{self.own_folder}/primary.yaml")
        return str(yaml.load(text, yaml.CSafeLoader)["digest"]) if text else ""

    def object(self) -> Json:
        """The live BlueGreenDeployment."""
        found = self.scenario.live(names.PLURAL, self.name)
        assert found is not None, f"there is no BlueGreenDeployment {self.name}"
        return found

    @property
    def status(self) -> Json:
        """Its status; empty as long as there is none."""
        return dict(self.object().get("status") or {})

    @property
    def record(self) -> Record:
        """What the agent remembers."""
        return from_json(Record, unpacked(self.status) or {})

    def phase(self) -> str:
        """The one word."""
        return str(self.status.get("phase", ""))

    def condition(self, kind: str) -> Json:
        """One condition of the status; where that has others and not this one, its status is Absent."""
        return condition_in(self.status, kind)

    def ledger(self) -> list[dict[str, str]]:
        """The entries of this app on the state branch, oldest first: trailers by name, without `Bg-`."""
        if not self.scenario.remote.bare.exists() or self.scenario.remote.head(STATE_BRANCH) is None:
            return []
        bare = self.scenario.remote.bare
        text = self.scenario.remote.run("log", "--reverse", "--format=%B", STATE_BRANCH, "--", cwd=bare)
        return [entry for entry in entries_in(text) if entry.get("App") == str(self.key)]

    def ledger_events(self) -> list[str]:
        """The events of the ledger, oldest first."""
        return [entry["Event"] for entry in self.ledger()]

    def is_told(self) -> bool:
        """Whether the ledger has everything that the record has to tell, and no switch is on its way."""
        record = self.record
        if not record.ledger:
            return record.routing.switch is None
        text = self.scenario.remote.show(STATE_BRANCH, path_of(self.key))
        found = json.loads(text) if text else {}
        told = found.get("epoch") == record.epoch and found["sequence"] >= record.sequence
        return told and record.routing.switch is None

    # --- waiting --------------------------------------------------------------------------------------------------

    def wait(self, probe: Callable[[], Any], what: str, timeout: float = PATIENCE) -> None:
        """Wait until the probe is true; on failure say where the app is."""

        def story() -> str:
            found = self.scenario.live(names.PLURAL, self.name) or {}
            status = {key: value for key, value in (found.get("status") or {}).items() if key != "record"}
            return (
                f"{what}\nstatus: {yaml.safe_dump(status)}\nversions: {self.versions()}\nledger: {self.ledger_events()}"
            )

        try:
            eventually(probe, timeout, what=what, heard=self.scenario.cluster.heard)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{story()}") from error

    def wait_live(self, tag: str) -> None:
        """Wait until live traffic goes to a tag."""
        self.wait(lambda: self.live_tag() == tag, f"{self.name}:{tag} is live")

    def wait_preview(self, tag: str) -> None:
        """Wait until the preview Service goes to a tag."""
        self.wait(lambda: self.preview_tag() == tag, f"{self.name}:{tag} is previewed")

    def wait_primary(self, tag: str) -> None:
        """Wait until main's `primary.yaml` names a tag."""
        self.wait(lambda: self.primary_digest() == self.digest(tag), f"primary.yaml names {tag}")

    def wait_offered(self, tag: str) -> None:
        """Wait until the promotion branch offers a tag on top of what main names now."""

        def is_offered() -> bool:
            branch = self.promotion_branch
            return self.offered() and self.primary_digest(branch) == self.digest(tag)

        self.wait(is_offered, f"the promotion of {tag} is offered")

    def wait_phase(self, phase: str) -> None:
        """Wait for a phase."""
        self.wait(lambda: self.phase() == phase, f"phase {phase}")

    def wait_condition(self, kind: str, status: str = "True") -> Json:
        """Wait for a condition, and return it. ``status`` Absent: until nothing of its kind is said any more."""
        seen: list[Json] = []

        def says_so() -> bool:
            seen[:] = [self.condition(kind)]
            return seen[0]["status"] == status

        self.wait(says_so, f"condition {kind}={status}")
        return seen[0]

    def wait_told(self, event: str = "", times: int = 1) -> None:
        """Wait until the ledger has everything that the record has to tell, and an event so many times."""

        def has_event() -> bool:
            return not event or self.ledger_events().count(event) >= times

        self.wait(lambda: self.is_told() and has_event(), f"the ledger has {event or 'everything'}")

    def _tag_of(self, digest: str) -> str:
        return next((each.tag for each in self.versions().values() if each.digest == digest), "") if digest else ""


@contextmanager
def scenario(
    cluster: TestCluster, folder: Path, *, namespace: str = "", remote: GitRemote | None = None, **settings: Any
) -> Iterator[Scenario]:
    """A scenario without an agent yet, in a new namespace; it is stopped, and forgotten, at the end.

    Unless told otherwise, the agent has the rights of deploy/ there.
    """
    cluster.install_our_kind()
    place = namespace or cluster.namespace()
    if not settings.keys() & {"kubeconfig", "access"}:
        settings["kubeconfig"] = rights.as_shipped(cluster, place)
    made = Scenario(cluster, place, remote or GitRemote(folder / "git"), folder, **settings)
    try:
        yield made
    finally:
        made.stop()
        if not namespace:
            cluster.forget(made.namespace)


def condition_in(status: Mapping[str, Any], kind: str) -> Json:
    """One condition of a status; Unknown where nothing is said yet, Absent where nothing of its kind is to be said."""
    conditions = status.get("conditions") or []
    none = {"status": "Absent" if conditions else "Unknown", "reason": "", "message": ""}
    return next((each for each in conditions if each["type"] == kind), none)


def _manifest(api_version: str, kind: str, app: App, spec: dict[str, Any]) -> str:
    metadata = {"name": app.name, "namespace": app.scenario.namespace}
    document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
    return yaml.safe_dump(document, sort_keys=False)

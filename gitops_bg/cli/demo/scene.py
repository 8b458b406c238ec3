"""What the demo runs on: a folder, a Git remote, sandbox clusters, their agents; set up and removed. Plays no step."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.settings import AgentSettings
from gitops_bg.cli.demo import gitea
from gitops_bg.cli.demo.agent_process import AgentProcess
from gitops_bg.cli.demo.hosting import Hosted, Hosting
from gitops_bg.cli.demo.logfile import logging_to
from gitops_bg.cli.demo.remote import Remote
from gitops_bg.cli.demo.sight import Sight
from gitops_bg.cli.demo.subject import Seen, Subject
from gitops_bg.cli.demo.traffic import Traffic
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import DEFINITIONS
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.version import AppKey
from gitops_bg.outbound.addresses import EVERYWHERE
from gitops_bg.repo.settings import STATE_PREFIX
from gitops_bg.sandbox import Sandbox
from gitops_bg.spec.crd import definition, group_definition

APP = AppKey("shop", "web")
IMAGE = "registry.example/shop/web"
"""The image without its tag; the template runs 1.0.0 of it."""
PREVIEW_SERVICE = "web-preview"

POLL_SECONDS = 0.5
"""Between two polls of the remote by the agent; a webhook would trigger one at once."""
POD_SECONDS = 0.5
"""How long a pod takes to become ready."""
STOPS_WITHIN = 60.0
"""How long the agent may take to stop, in seconds: a demo has none of the haste of a pod, and leaves nothing behind."""
_OPTIONS = (
    *("--poll", f"{POLL_SECONDS}s", "--http", "off", "--log-format", "text"),
    *("--lease-duration", "5s", "--lease-renew-deadline", "4s", "--lease-retry", "500ms"),
)
"""Of agents that are processes. Whoever comes after one that was killed waits for the end of its lease."""

WEB = Subject(lambda sandbox: Sight(sandbox, APP, PREVIEW_SERVICE))
"""The app of most stories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCluster:
    """One cluster, and what its users see. ``traffic`` is ready to start."""

    name: str
    environment: str
    """Its environment; empty where the repository has none."""
    sandbox: Sandbox
    kubeconfig: Path
    seen: Seen
    traffic: Traffic

    @property
    def sight(self) -> Sight:
        """The app of the story. Raises ``TypeError`` in a story about something else."""
        if not isinstance(self.seen, Sight):
            raise TypeError("this story is about no single app")
        return self.seen

    @property
    def ledger(self) -> str:
        """The branch of the ledger."""
        return f"{STATE_PREFIX}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherCluster(DemoCluster):
    """Another cluster of the same repository, whose agent can be killed: it is a process of its own."""

    agent: AgentProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene(DemoCluster):
    """Everything that runs: the first cluster, and what all share."""

    folder: Path
    remote: Remote
    agent: Agent
    further: tuple[FurtherCluster, ...]
    forge: gitea.Repository | None
    """Where users open, merge and close pull requests; None on a remote without any."""

    @property
    def clusters(self) -> "tuple[Scene | FurtherCluster, ...]":
        """All clusters, in order."""
        return self, *self.further

    @property
    def logs(self) -> tuple[Path, ...]:
        """Where the agents write their logs."""
        return _log_of(self.folder), *(each.agent.log for each in self.further)


@contextmanager
def scene(hosting: Hosting, subject: Subject, clusters: Mapping[str, str]) -> Iterator[Scene]:
    """Set everything up, with these clusters and their environments; at the end, remove everything in reverse order,
    whatever happens.
    """
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="gitops-bg-demo-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.enter_context(logging_to(_log_of(folder)))
        hosted = stack.enter_context(hosting(folder))
        made = [_built(stack, folder, subject, *each) for each in clusters.items()]
        first, further = made[0], made[1:]
        agent = Agent(_settings(hosted, first))
        stack.callback(agent.stop, STOPS_WITHIN)
        agent.start()
        others = tuple(_with_process(stack, hosted.remote.url, folder, each) for each in further)
        for each in made:
            stack.callback(each.traffic.stop)
        yield Scene(
            **_parts(first),
            folder=folder,
            remote=hosted.remote,
            agent=agent,
            further=others,
            forge=hosted.on_gitea,
        )


def _built(stack: ExitStack, folder: Path, subject: Subject, name: str, environment: str) -> DemoCluster:
    """Start a cluster, without an agent."""
    sandbox = stack.enter_context(Sandbox(ready_after=POD_SECONDS))
    kubeconfig = sandbox.kubeconfig(folder / f"kubeconfig-{name}", name)
    _prepare(sandbox, subject, kubeconfig)
    seen = subject.see(sandbox)
    return DemoCluster(
        name=name,
        environment=environment,
        sandbox=sandbox,
        kubeconfig=kubeconfig,
        seen=seen,
        traffic=Traffic(seen.url),
    )


def _with_process(stack: ExitStack, url: str, folder: Path, cluster: DemoCluster) -> FurtherCluster:
    """Start the agent of a cluster, as a process."""
    where = ("--repo", url, "--cluster", cluster.name, "--kubeconfig", str(cluster.kubeconfig))
    files = ("--state-dir", str(folder / cluster.name))
    process = AgentProcess((*where, *files, *_OPTIONS), folder / f"agent-{cluster.name}.log")
    stack.callback(process.stop, STOPS_WITHIN)
    process.start()
    return FurtherCluster(**_parts(cluster), agent=process)


def _parts(cluster: DemoCluster) -> dict[str, Any]:
    return {each.name: getattr(cluster, each.name) for each in fields(cluster)}


def _prepare(sandbox: Sandbox, subject: Subject, kubeconfig: Path) -> None:
    """Do what an administrator does once: the namespace, the CustomResourceDefinitions, what the story needs."""
    sandbox.create_namespace(APP.namespace)
    client = Client(Access(kubeconfig=kubeconfig))
    try:
        for kind, body in ((DEFINITIONS, definition()), (DEFINITIONS, group_definition()), *subject.objects):
            client.create(kind, body)
    finally:
        client.close()


def _settings(hosted: Hosted, cluster: DemoCluster) -> AgentSettings:
    return AgentSettings(
        repository=replace(hosted.repository, cluster=cluster.name),
        access=Access(kubeconfig=cluster.kubeconfig),
        poll_seconds=POLL_SECONDS,
        forge=hosted.forge,
        addresses=EVERYWHERE,
    )


def _log_of(folder: Path) -> Path:
    return folder / "agent.log"

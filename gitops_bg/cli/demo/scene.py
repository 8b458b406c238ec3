"""What the demo runs on: a folder, a Git remote, a sandbox cluster, an agent; set up and removed. Plays no step."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.settings import AgentSettings
from gitops_bg.cli.demo import gitea
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


WEB = Subject(lambda sandbox: Sight(sandbox, APP, PREVIEW_SERVICE))
"""The app of most stories."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that runs. ``traffic`` is ready to start."""

    folder: Path
    remote: Remote
    sandbox: Sandbox
    agent: Agent
    seen: Seen
    traffic: Traffic
    kubeconfig: Path
    forge: gitea.Repository | None
    """Where users open, merge and close pull requests; None on a remote without any."""

    @property
    def sight(self) -> Sight:
        """The app of the story. Raises ``TypeError`` in a story about something else."""
        if not isinstance(self.seen, Sight):
            raise TypeError("this story is about no single app")
        return self.seen

    @property
    def log(self) -> Path:
        """Where the agent writes its log."""
        return _log_of(self.folder)

    @property
    def ledger(self) -> str:
        """The branch of the ledger."""
        return self.agent.settings.repository.state_branch


@contextmanager
def scene(hosting: Hosting, subject: Subject) -> Iterator[Scene]:
    """Set everything up; at the end, remove everything in reverse order, whatever happens."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="gitops-bg-demo-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.enter_context(logging_to(_log_of(folder)))
        hosted = stack.enter_context(hosting(folder))
        sandbox = stack.enter_context(Sandbox(ready_after=POD_SECONDS))
        kubeconfig = _prepared(sandbox, subject, folder / "kubeconfig")
        seen = subject.see(sandbox)
        traffic = Traffic(seen.url)
        agent = Agent(_settings(hosted, kubeconfig))
        stack.callback(agent.stop, STOPS_WITHIN)
        agent.start()
        stack.callback(traffic.stop)
        yield Scene(folder, hosted.remote, sandbox, agent, seen, traffic, kubeconfig, hosted.on_gitea)


def _prepared(sandbox: Sandbox, subject: Subject, kubeconfig: Path) -> Path:
    """Do what an administrator does once: the namespace, the CustomResourceDefinitions, what the story needs."""
    sandbox.create_namespace(APP.namespace)
    sandbox.kubeconfig(kubeconfig)
    client = Client(Access(kubeconfig=kubeconfig))
    try:
        for kind, body in ((DEFINITIONS, definition()), (DEFINITIONS, group_definition()), *subject.objects):
            client.create(kind, body)
    finally:
        client.close()
    return kubeconfig


def _settings(hosted: Hosted, kubeconfig: Path) -> AgentSettings:
    return AgentSettings(
        repository=hosted.repository,
        access=Access(kubeconfig=kubeconfig),
        poll_seconds=POLL_SECONDS,
        forge=hosted.forge,
        addresses=EVERYWHERE,
    )


def _log_of(folder: Path) -> Path:
    return folder / "agent.log"

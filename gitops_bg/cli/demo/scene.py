"""What the demo runs on: a folder, a Git remote, a sandbox cluster, an agent; built up and taken down. Does no step."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitops_bg.agent.agent import Agent
from gitops_bg.agent.settings import AgentSettings
from gitops_bg.cli.demo.logfile import logging_to
from gitops_bg.cli.demo.remote import Remote
from gitops_bg.cli.demo.sight import Sight
from gitops_bg.cli.demo.traffic import Traffic
from gitops_bg.cli.session.template import template_folder
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.connection import Access
from gitops_bg.cluster.api.kinds import Kind
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.sandbox import Sandbox
from gitops_bg.spec.crd import definition

APP = AppKey("shop", "web")
IMAGE = "registry.example/shop/web"
"""Without its tag; the template runs 1.0.0 of it."""
PREVIEW_SERVICE = "web-preview"
CLUSTER = "demo"

POLL_SECONDS = 0.5
"""Between two looks of the agent at the remote; a webhook would wake it at once."""
POD_SECONDS = 0.5
"""How long a pod takes to get ready."""

_CRDS = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that runs. ``traffic`` is ready to start."""

    folder: Path
    remote: Remote
    sandbox: Sandbox
    agent: Agent
    sight: Sight
    traffic: Traffic
    kubeconfig: Path

    @property
    def log(self) -> Path:
        """Where the agent writes its log."""
        return _log_of(self.folder)

    @property
    def ledger(self) -> str:
        """The branch of the ledger."""
        return self.agent.settings.repository.state_branch


@contextmanager
def scene() -> Iterator[Scene]:
    """Build everything up, and take everything down at the end, in reverse order, whatever happens."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="gitops-bg-demo-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.enter_context(logging_to(_log_of(folder)))
        remote = Remote(folder, template_folder())
        sandbox = stack.enter_context(Sandbox(ready_after=POD_SECONDS))
        kubeconfig = _prepared(sandbox, folder / "kubeconfig")
        sight = Sight(sandbox, APP, PREVIEW_SERVICE)
        traffic = Traffic(sight.active_url)
        agent = Agent(_settings(remote, folder, kubeconfig))
        stack.callback(agent.stop)
        agent.start()
        stack.callback(traffic.stop)
        yield Scene(folder, remote, sandbox, agent, sight, traffic, kubeconfig)


def _prepared(sandbox: Sandbox, kubeconfig: Path) -> Path:
    """Do what an administrator does once: the namespace and the CustomResourceDefinition."""
    sandbox.create_namespace(APP.namespace)
    sandbox.kubeconfig(kubeconfig)
    client = Client(Access(kubeconfig=kubeconfig))
    try:
        client.create(_CRDS, definition())
    finally:
        client.close()
    return kubeconfig


def _settings(remote: Remote, folder: Path, kubeconfig: Path) -> AgentSettings:
    return AgentSettings(
        repository=RepositorySettings(url=remote.url, cluster=CLUSTER, directory=folder / "mirror"),
        access=Access(kubeconfig=kubeconfig),
        poll_seconds=POLL_SECONDS,
    )


def _log_of(folder: Path) -> Path:
    return folder / "agent.log"

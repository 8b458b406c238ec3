"""What a page's reader has: a home, a repository to push to, a cluster with kubectl, and the agent beside them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.documentation.commands.shell import Done, Shell
from tests.support.agent.agents import agent_settings, running
from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.cluster.helm import helm_at_hand
from tests.support.git.remote import GitRemote, locked_down_env
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[3]
URL = "https://git.example.com/shop/config.git"
"""The repository as the pages call it; git takes the one of this world."""
COMMANDS = Path(sys.executable).parent
POLL_SECONDS = 0.3

_GIT = """\
[user]
	name = Ada Pusher
	email = ada@example.com
[init]
	defaultBranch = main
[advice]
	detachedHead = false
[url "{remote}"]
	insteadOf = {url}
"""


@dataclass(frozen=True)
class Start:
    """What is there when the reader comes to the first block."""

    has_the_template: bool = True
    """Both apps of the template are live, and the reader is in a clone."""
    has_the_agent: bool = True
    """An agent follows the repository, and the namespace `shop` is there."""
    namespaces: tuple[str, ...] = ()
    """Those that the agent looks after; all where none is named."""
    needs_control_plane: bool = False
    """The sandbox has no controller for Deployments."""
    needs_helm: bool = False
    clusters: tuple[str, ...] = ("test",)
    """The contexts of the kubeconfig, by the name that an agent of each has; one works in the first."""


@contextmanager
def reader(cluster: TestCluster, folder: Path, start: Start) -> Iterator[Shell]:
    """Somebody at a terminal, as a page finds them."""
    home = folder / "home"
    home.mkdir()
    remote = GitRemote(folder / "git")
    (home / ".gitconfig").write_text(_GIT.format(remote=remote.url, url=URL))
    (home / "gitops-bg").symlink_to(ROOT)  # the clone of this project
    with ExitStack() as stack:
        kubeconfig = cluster.kubeconfig
        if start.clusters[1:]:
            others = [stack.enter_context(_further(folder / name)) for name in start.clusters[1:]]
            kubeconfig = _contexts(dict(zip(start.clusters, [cluster, *others], strict=True)), folder / "kubeconfig")
        shell = stack.enter_context(Shell(home, _environment(kubeconfig, home)))
        if start.has_the_agent:
            cluster.install_our_kind()
            changes = {"poll_seconds": POLL_SECONDS, "namespaces": start.namespaces}
            git = {"cluster": start.clusters[0]}
            settings = agent_settings(folder, remote.url, cluster.kubeconfig, git, **changes)
            stack.enter_context(running(settings))
        for done in _prepare(cluster, remote, shell, start):
            assert done.code == 0, done.printed
        yield shell


def _prepare(cluster: TestCluster, remote: GitRemote, shell: Shell, start: Start) -> Iterator[Done]:
    if start.has_the_template:
        _make_shop(cluster)
        _push_the_template(cluster, remote)
        yield shell(f"git clone --quiet {URL} config && cd config")
    elif start.has_the_agent:
        _make_shop(cluster)
    else:
        yield shell("mkdir work && cd work")


@contextmanager
def _further(folder: Path) -> Iterator[TestCluster]:
    """Another cluster, in which nothing runs yet."""
    folder.mkdir()
    with SandboxCluster.run(folder) as cluster:
        cluster.install_our_kind()
        _make_shop(cluster)
        yield cluster


def _contexts(clusters: Mapping[str, TestCluster], file: Path) -> Path:
    """Write one kubeconfig with a context for each cluster; the first is the current one."""
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": next(iter(clusters))}
    for name, cluster in clusters.items():
        found = yaml.safe_load(cluster.kubeconfig.read_text())
        for kind, field in (("clusters", "cluster"), ("users", "user")):
            merged.setdefault(kind, []).append({"name": name, field: found[kind][0][field]})
        merged.setdefault("contexts", []).append({"name": name, "context": {"cluster": name, "user": name}})
    file.write_text(yaml.safe_dump(merged))
    return file


def _environment(kubeconfig: Path, home: Path) -> dict[str, str]:
    plain = locked_down_env(home)
    helm = [str(program.parent) for program in [helm_at_hand()] if program]
    ours = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_CONFIG_GLOBAL")
    kept = {name: value for name, value in plain.items() if name not in ours}
    return kept | {
        "PATH": ":".join([str(COMMANDS), *helm, os.environ["PATH"]]),
        "KUBECONFIG": str(kubeconfig),
        "GIT_PAGER": "cat",
        "COLUMNS": "160",
        "NO_COLOR": "1",
        "PROJECT": str(ROOT),
    }


def _make_shop(cluster: TestCluster) -> None:
    """Who installs the agent makes the namespaces of its apps first."""
    cluster.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})


def _push_the_template(cluster: TestCluster, remote: GitRemote) -> None:
    template = ROOT / "repo-template"
    for file in template.rglob("*.yaml"):
        remote.write(file.relative_to(template).as_posix(), file.read_text())
    remote.commit("Begin")
    remote.push()
    path = "/apis/gitops-bg.dev/v1alpha1/namespaces/shop/bluegreendeployments"

    def live() -> bool:
        apps = cluster.list(path)
        return len(apps) == 2 and all(app.get("status", {}).get("phase") == "Healthy" for app in apps)

    eventually(live, what="the apps of the template are live")

"""A stranger's first ten minutes, by the clock: what a release has and what the pages say suffices to install it, adopt
a live app, push, promote by pull request, and take it back.

They have a new home, a cluster of today, a forge with an empty repository, and the pages of `docs/`: each command is
one of a page, typed once, and prints what the page shows. Registry, index, helm, forge and control plane are real, and
nobody else is asked; pods are played, but for the agent's, which runs from the image that was pushed.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from gitops_bg.cli.demo.gitea import gitea_at_hand, password
from tests.documentation.commands.blocks import Command
from tests.documentation.commands.pages import STRANGER, as_shown, run_block
from tests.documentation.commands.shell import Shell
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.helm import HOW_TO_GET_IT, helm_at_hand
from tests.support.cluster.pki import Authority
from tests.support.forges import gitea
from tests.support.forges.gitea import Gitea
from tests.support.release.index import PackageIndex
from tests.support.release.installed import InstalledAgent
from tests.support.release.made import Release, tool
from tests.support.release.registry import REGISTRY, registry_with
from tests.support.release.users import Users
from tests.support.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.control_plane, pytest.mark.real_forge]

TEN_MINUTES = 600.0
WHO = "ana"
"""Whom the forge knows the stranger as."""
_GIT = """\
[user]
	name = Ada Pusher
	email = ada@example.com
[init]
	defaultBranch = main
[credential]
	helper = store
[http]
	sslCAInfo = {authority}
"""
_HELM = '#!/bin/sh\nexec {helm} "$@" --plain-http\n'
"""The registry has no certificate."""


@pytest.fixture(scope="module")
def index(first: Release, tmp_path_factory: pytest.TempPathFactory) -> PackageIndex:
    return PackageIndex(tmp_path_factory.mktemp("index"), first)


@pytest.fixture(scope="module")
def registry(first: Release, index: PackageIndex) -> Iterator[None]:
    """A registry with the release; what is from elsewhere is fetched before anybody is alone."""
    with registry_with(first):
        yield


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Whom the stranger's machines trust."""
    return Authority(tmp_path / "authority")


@pytest.fixture
def forge(registry: None, authority: Authority, tmp_path: Path) -> Iterator[Gitea]:
    """A Gitea with the empty repository `config`."""
    program = gitea_at_hand()
    assert program
    with gitea.running(program, tmp_path / "forge-template", tmp_path / "forge", authority) as running:
        running.repository("config")
        yield running


_LOOKS_FOR = 20
"""Seconds in which a stranger looks at the cluster again: what a page shows comes a moment after what it said last."""


def test_the_pages_lead_from_nothing_to_a_rollback_in_ten_minutes(
    index: PackageIndex, cluster: ControlPlaneCluster, forge: Gitea, authority: Authority, tmp_path: Path
) -> None:
    trusted = authority.certificate.read_text()
    agent = InstalledAgent(cluster, "gitops-bg", tool("crane"), tmp_path / "nodes", trusted)
    users = Users(cluster, "shop", "orders")
    theirs = {
        "https://git.example.com/shop/config.git": f"{forge.url}/admin/config.git",
        "registry.example/gitops-bg": f"{REGISTRY}/gitops-bg",
        "registry.example/charts": f"{REGISTRY}/charts",
        "the-token-of-your-forge": forge.token("agent", "write:repository", "write:issue"),
    }
    seconds: dict[str, float] = {}

    def perform(place: str, command: Command, code: int, shell: Shell) -> None:
        print(f"{time.monotonic() - begin:6.1f} s  $ {command.text}")
        looks = command.text.startswith("kubectl get")  # who looks at the cluster looks twice
        as_shown(place, _in_their_words(command, theirs), code, shell, patience=_LOOKS_FOR if looks else 0)
        if command.text.startswith("helm install"):
            agent.restart()

    begin = time.monotonic()
    try:
        with ExitStack() as stack:
            shell = stack.enter_context(
                Shell(_home(tmp_path, authority), _environment(index, cluster, forge, tmp_path))
            )
            for section in STRANGER:
                before = time.monotonic()
                for block in section.blocks():
                    run_block(section.page, block, shell, perform)
                if section.heading == "Adopt a live app":
                    stack.enter_context(users.asking())
                if section.heading == "4. Promote it" and not section.start:
                    _merge(forge)
                seconds[section.title] = seconds.get(section.title, 0.0) + time.monotonic() - before
    except BaseException:
        print(agent.log[-6000:])
        raise
    finally:
        agent.stop()
    total = sum(seconds.values())
    print(*(f"{spent:6.1f} s  {title}" for title, spent in seconds.items()), f"{total:6.1f} s  all of it", sep="\n")
    assert users.failures == []
    assert (users.tags[0], "1.1.0" in users.tags, users.tags[-1]) == ("1.0.0", True, "1.0.0")
    assert total < TEN_MINUTES


def _in_their_words(command: Command, words: Mapping[str, str]) -> Command:
    """What somebody types who has read a command: their own addresses and token in the place of the page's."""

    def own(text: str) -> str:
        for page, mine in words.items():
            text = text.replace(page, mine)
        return text

    return replace(command, text=own(command.text), printed=tuple(own(line) for line in command.printed))


def _home(folder: Path, authority: Authority) -> Path:
    home = folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(_GIT.format(authority=authority.certificate))
    return home


def _environment(index: PackageIndex, cluster: ControlPlaneCluster, forge: Gitea, folder: Path) -> Mapping[str, str]:
    """Of somebody with kubectl, helm, git and pipx, who has credentials of their own, and nothing of ours."""
    home, temporary = folder / "home", folder / "temporary"
    temporary.mkdir()
    helm = helm_at_hand()
    if helm is None:
        pytest.skip(HOW_TO_GET_IT)
    files = {
        ".git-credentials": f"{forge.url.replace('://', f'://{WHO}:{password(WHO)}@')}\n",
        ".kube/config": cluster.kubeconfig.read_text(),
        ".config/pip/pip.conf": f"[global]\nindex-url = {index.url}\n",
        "bin/helm": _HELM.format(helm=helm),
    }
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(content)
    (home / "bin/helm").chmod(0o755)
    (home / "bin/pipx").symlink_to(index.pipx)
    tools = {str(Path(found).parent) for name in ("kubectl", "git") if (found := shutil.which(name))}
    return {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PATH": ":".join([str(home / ".local/bin"), str(home / "bin"), *sorted(tools), "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "COLUMNS": "160",
        "NO_COLOR": "1",
        "GIT_PAGER": "cat",
    }


def _merge(forge: Gitea) -> None:
    """Look at the pull request until its status is green, and press the button."""
    repository = "/repos/admin/config"

    def green() -> int:
        (pull,) = forge.call("GET", f"{repository}/pulls?state=open", user=WHO)
        found = forge.call("GET", f"{repository}/commits/{pull['head']['sha']}/statuses", user=WHO)
        assert found[0]["status"] == "success", found[0]
        return int(pull["number"])

    number = eventually(green, what="the pull request may be merged")
    forge.merge(f"{repository}/pulls/{number}", "merge", WHO)

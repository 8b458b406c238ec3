"""`python -m tests.bench.fleets`: many agents on one Gitea, a cluster each, and an app that passes three
environments: what the server is asked, how often two agents push at once, how long a push takes to production.

Real Git over HTTP. Agents and their sandboxes share a few processes, and all of them the machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gitops_bg.cli.demo import gitea
from gitops_bg.cli.demo.git import Git
from gitops_bg.cli.demo.remote import Remote
from gitops_bg.cli.demo.scene import APP, IMAGE
from gitops_bg.cli.repository.worktree import template_folder
from gitops_bg.spec.app.layout import APP_FILE, ENVIRONMENTS_FILE, OVERLAY_FILE, app_file, folder_of
from tests.bench.channel import Child
from tests.bench.page import machine, markdown_table, write_block
from tests.bench.report import PAGE
from tests.bench.rows import percentile

_ACCESS_LOG = """
[log]
logger.access.MODE = access
ROOT_PATH = {home}
[log.access]
MODE = file
FILE_NAME = access.log
LEVEL = Info
"""
_PATIENCE = 900.0
_COLUMNS = ("What", "Measured", "Detail")
_KINDS = {"GET": "questions", "git-upload-pack": "answers", "git-receive-pack": "pushes"}

Line = tuple[str, str, str]


@dataclass(frozen=True)
class Fleet:
    """What is measured: a server, its log, somebody who pushes, and the processes with the agents."""

    remote: Remote
    log: Path
    agents: Sequence[Child]
    environments: Mapping[str, tuple[str, ...]]

    @property
    def clusters(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(each for clusters in self.environments.values() for each in clusters)

    def asked(self) -> Counter[str]:
        """What the server was asked about Git so far: requests by their kind."""
        lines = (line for line in self.log.read_text(errors="replace").splitlines() if ".git/" in line)
        return Counter(next(kind for word, kind in _KINDS.items() if word in line) for line in lines)

    def usage(self) -> Counter[str]:
        """Seconds of CPU of the agents and their clusters, and pushes to main that were taken and refused."""
        total = Counter[str]()
        for child in self.agents:
            total.update(child.ask("usage"))
        return total

    def release(self, tag: str) -> float:
        """Push a tag; return when."""
        if self.remote.offered("main"):
            self.remote.run("pull", "--quiet")
        self.remote.write_image(APP, f"{IMAGE}:{tag}")
        self.remote.run("add", "--all")
        self.remote.run("commit", "--quiet", "-m", f"web {tag}")
        self.remote.run("push", "--quiet", "origin", "HEAD:main")
        return time.monotonic()

    def wait_live(self, tag: str) -> dict[str, float]:
        """Wait until a tag is live everywhere; return when it came to each cluster."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            found: dict[str, float] = {}
            for child in self.agents:
                found |= child.ask("arrived", tag=tag)
            if len(found) == len(self.clusters):
                return found
            time.sleep(0.5)
        raise TimeoutError(f"{tag} is not live in {', '.join(sorted(set(self.clusters) - set(found)))}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; exit status 2 without a Gitea."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fleets", description=__doc__)
    parser.add_argument("--agents", type=int, default=50, help="how many, at least 3")
    parser.add_argument("--processes", type=int, default=5, help="among how many processes they are")
    parser.add_argument("--poll", type=float, default=30.0, help="seconds between two looks of an agent")
    parser.add_argument("--idle", type=float, default=120.0, help="seconds in which nobody pushes")
    parser.add_argument("--pushes", type=int, default=5, help="how many new tags, one after the other")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/reference/performance.md")
    options = parser.parse_args(arguments)
    assets = gitea.gitea_at_hand()
    if assets is None:
        sys.stderr.write("put `gitea` on the PATH, or set GITOPS_BG_FORGE to a folder with bin/gitea and static/\n")
        return 2
    with _fleet(assets, options) as fleet:
        lines = list(_measure(fleet, options))
    _print(lines)
    if options.write_docs:
        write_block(PAGE, "fleets", [machine(), "", *markdown_table(_COLUMNS, lines)])
    return 0


@contextmanager
def _fleet(assets: gitea.Assets, options: argparse.Namespace) -> Iterator[Fleet]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gitops-bg-bench-")))
        home = folder / "gitea"
        home.mkdir()
        server = stack.enter_context(gitea.running(assets, home, _ACCESS_LOG.format(home=home)))
        repository = gitea.Repository(server, home, "config")
        repository.create({})
        git = Git(folder)
        git.remember(repository.url, gitea.ADMIN, gitea.password(gitea.ADMIN))
        token = folder / "token"
        token.write_text(repository.token(gitea.AGENT))
        remote = Remote(git, repository.bare, repository.url, template_folder())
        environments = _environments(options.agents)
        _write_files(remote, environments)
        names = [each for clusters in environments.values() for each in clusters]
        told = {"url": repository.url, "user": gitea.AGENT, "token_file": str(token), "poll": options.poll}
        parts = [names[number :: options.processes] for number in range(options.processes)]
        children = []
        for number, part in enumerate(parts):
            own = folder / f"agents-{number}"
            own.mkdir()
            child = Child("fleets.process", folder / f"agents-{number}.log", folder=str(own), clusters=part, **told)
            children.append(stack.enter_context(child))
        yield Fleet(remote, home / "access.log", children, environments)


def _environments(agents: int) -> dict[str, tuple[str, ...]]:
    """One cluster to begin with, a fifth in between, the rest is production."""
    staging = max(1, agents // 5 - 1)
    sizes = {"dev": 1, "staging": staging, "prod": agents - 1 - staging}
    return {name: tuple(f"{name}-{number}" for number in range(1, size + 1)) for name, size in sizes.items()}


def _write_files(remote: Remote, environments: Mapping[str, Sequence[str]]) -> None:
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Environments\nenvironments:\n"
    lines = (
        f"- {{name: {name}, clusters: [{', '.join(clusters)}], autoPromotionEnabled: true}}\n"
        for name, clusters in environments.items()
    )
    remote.append(ENVIRONMENTS_FILE, head + "".join(lines))
    for name in environments:
        remote.append(f"{folder_of(APP)}/{name}/{OVERLAY_FILE}", "{}\n")
    remote.remove("apps/shop/api")
    remote.replace(app_file(APP, APP_FILE), "via: pullRequest", "via: commit")


def _measure(fleet: Fleet, options: argparse.Namespace) -> Iterator[Line]:
    sizes = ", ".join(f"{len(clusters)} in {name}" for name, clusters in fleet.environments.items())
    yield "agents", str(len(fleet.clusters)), f"{sizes}; each looks every {options.poll:g} s"
    began = fleet.release("1.0.0")
    for child in fleet.agents:
        child.ask("start")
    first = fleet.wait_live("1.0.0")
    yield "first deployment, everywhere", _seconds(max(first.values()) - began), "with the start of all agents"
    time.sleep(2 * options.poll)  # all see what the others wrote
    yield from _idle(fleet, options.idle)
    yield from _pushes(fleet, options.pushes)


def _idle(fleet: Fleet, seconds: float) -> Iterator[Line]:
    asked, used, began = fleet.asked(), fleet.usage(), time.monotonic()
    time.sleep(seconds)
    minutes = (time.monotonic() - began) / 60
    more, cpu = fleet.asked() - asked, (fleet.usage()["cpu"] - used["cpu"]) / minutes
    detail = f"{_kinds(more)} in {minutes:.1f} min; CPU of agents and sandboxes {cpu:.1f} s a minute"
    yield "requests to Gitea a minute, nothing to do", f"{more.total() / minutes:.0f}", detail


def _pushes(fleet: Fleet, count: int) -> Iterator[Line]:
    asked, used, began = fleet.asked(), fleet.usage(), time.monotonic()
    took: dict[str, list[float]] = {name: [] for name in fleet.environments}
    for number in range(1, count + 1):
        tag = f"1.{number}.0"
        pushed = fleet.release(tag)
        there = fleet.wait_live(tag)
        for name, clusters in fleet.environments.items():
            took[name].append(max(there[each] for each in clusters) - pushed)
    hours = (time.monotonic() - began) / 3600
    more, pushes = fleet.asked() - asked, fleet.usage() - used
    for name, times in took.items():
        worst = f"{len(times)} pushes; the longest {_seconds(percentile(times, 100))}"
        yield f"from the push to live in all of {name}", _seconds(statistics.median(times)), worst
    detail = f"{_kinds(more)} for {count} pushes"
    yield "requests to Gitea a minute, one push after the other", f"{more.total() / hours / 60:.0f}", detail
    taken, refused = pushes["taken"], pushes["refused"]
    detail = f"{refused} of {taken + refused} pushes to main in {hours * 60:.0f} min; each was tried anew"
    yield "push conflicts an hour", f"{refused / hours:.0f}", detail


def _kinds(asked: Counter[str]) -> str:
    return ", ".join(f"{asked[kind]} {kind}" for kind in _KINDS.values())


def _seconds(value: float) -> str:
    return f"{value:.0f} s"


def _print(lines: Sequence[Line]) -> None:
    table = Table(title="Many agents on one Gitea", caption=machine(), title_justify="left")
    for column in _COLUMNS:
        table.add_column(column)
    for line in lines:
        table.add_row(*line)
    console = Console()
    Console(width=max(console.width, 160)).print(table)
    sys.stdout.write(f"load of the machine: {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    sys.exit(main())

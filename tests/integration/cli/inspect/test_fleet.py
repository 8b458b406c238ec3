"""`fleet` shows every cluster of a repository from the ledgers in Git, without a cluster to ask."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from gitops_bg.repo.ledger.ledger_file import LedgerBatch, SubjectState, VersionState
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from tests.fixtures.repos import texts
from tests.integration.cli.conftest import Cli
from tests.support.git.remote import GitRemote

WEB, API, STORE = AppKey("shop", "web"), AppKey("shop", "api"), GroupKey("shop", "store")
NOW = datetime.now(UTC)
SINCE = NOW - timedelta(days=2)


@pytest.fixture
def remote(tmp_path: Path) -> GitRemote:
    """A repository that two clusters follow: `eu` has the next version of `web` already."""
    remote = GitRemote(tmp_path / "git")
    files = {"gitops-bg.yaml": texts.SETTINGS, **texts.folder("shop", "web")}
    remote.publish("Add web", {path: text.decode() for path, text in files.items()})
    _write(remote, tmp_path, "eu", {WEB: _serving("web", "2.0.0", 2), API: _serving("api", "1.0.0", 1)})
    waiting = _serving("web", "1.0.0", 1, candidate=VersionState(2, texts.digest("web", "2.0.0"), tag="2.0.0"))
    group = SubjectState(1, 3, VersionState(3, since=SINCE))
    _write(remote, tmp_path, "us", {WEB: waiting, API: _serving("api", "1.0.0", 1), STORE: group})
    return remote


@pytest.fixture
def cli(remote: GitRemote, tmp_path: Path) -> Cli:
    """The command line of somebody who has no cluster at all."""
    return Cli(remote, tmp_path / "no-kubeconfig", tmp_path)


def _serving(app: str, tag: str, number: int, candidate: VersionState | None = None) -> SubjectState:
    live = VersionState(number, texts.digest(app, tag), "blue", number, "c" * 40, SINCE, tag)
    return SubjectState(number, number + bool(candidate), live, candidate)


def _write(remote: GitRemote, folder: Path, cluster: str, states: dict[AppOrGroup, SubjectState]) -> None:
    settings = RepositorySettings(url=remote.url, cluster=cluster, directory=folder / cluster)
    with Repository(settings, clock=lambda: NOW - timedelta(days=5)) as repository:
        repository.poll()
        entry = LedgerEntry(1, SINCE, Event.PROMOTED, by="ada")
        repository.ledger.publish({about: LedgerBatch("life", (entry,), state) for about, state in states.items()})


def _lines(shown: str) -> Iterator[list[str]]:
    return (line.split("  ") for line in shown.splitlines())


def test_it_shows_what_serves_and_waits_in_each_cluster_and_how_old_that_is(cli: Cli) -> None:
    shown = [[part.strip() for part in line if part] for line in _lines(cli("fleet"))]
    day = f"{SINCE:%Y-%m-%d %H:%M}Z"
    assert shown == [
        ["NAME", "CLUSTER", "ACTIVE", "CANDIDATE", "HOLDS", "SINCE", "LAST EVENT"],
        ["shop/api", "eu", "1.0.0 (v1)", "-", "-", day, f"promoted {day}"],
        ["shop/api", "us", "1.0.0 (v1)", "-", "-", day, f"promoted {day}"],
        ["shop/web", "eu", "2.0.0 (v2)", "-", "-", day, f"promoted {day}"],
        ["shop/web", "us", "1.0.0 (v1)", "2.0.0 (v2)", "-", day, f"promoted {day}"],
        ["shop/store", "us", "v3", "-", "-", day, f"promoted {day}"],
        ["eu wrote 5d ago"],
        ["us wrote 5d ago"],
    ]


def test_only_what_differs_between_clusters_is_shown_where_that_is_asked_for(cli: Cli) -> None:
    found = cli.json("fleet", "--differing")
    assert [(each["app"], each["cluster"], each["agrees"]) for each in found["items"]] == [
        ("shop/web", "eu", False),
        ("shop/web", "us", False),
    ]
    assert [each["cluster"] for each in found["clusters"]] == ["eu", "us"]
    assert [each["cluster"] for each in cli.json("fleet", "--differing", "--cluster", "us")["items"]] == ["us"]
    same = "every cluster that has an app serves the same version of it"
    assert same in cli("fleet", "shop/api", "--differing")


def test_one_app_and_one_cluster_can_be_asked_for_and_an_unknown_name_is_told_which_ledgers_there_are(cli: Cli) -> None:
    assert [each["cluster"] for each in cli.json("fleet", "web")["items"]] == ["eu", "us"]
    assert [each["app"] for each in cli.json("fleet", "--cluster", "eu")["items"]] == ["shop/api", "shop/web"]
    assert cli.json("fleet", "-n", "other")["items"] == []
    assert "no ledger knows shop/nobody: there are those of eu, us" in cli("fleet", "shop/nobody", code=5)


def test_what_somebody_else_wrote_into_a_ledger_does_not_count_and_is_said(cli: Cli, remote: GitRemote) -> None:
    branch = "gitops-bg/state/us"
    before = cli.json("fleet")["items"]
    remote.run("fetch", "--quiet", "origin", branch)
    remote.run("checkout", "--quiet", "-B", branch, "FETCH_HEAD")
    remote.stage({"shop/web.json": "{}"})
    remote.run("commit", "--quiet", "-m", "All is well")
    remote.push(branch)
    found = cli.json("fleet")
    assert found["items"] == before
    [eu, us] = found["clusters"]
    assert eu["trouble"] == ""
    assert "shop/web.json" in us["trouble"]


def test_one_ledger_that_cannot_be_read_keeps_none_of_the_others(cli: Cli, remote: GitRemote) -> None:
    tree = remote.run("rev-parse", "main^{tree}", cwd=remote.bare).strip()
    remote.run("tag", "-a", "-m", "no commit", "odd", tree, cwd=remote.bare)
    (remote.bare / "refs/heads/gitops-bg/state/odd").write_text(f"{tree}\n")
    found = cli.json("fleet")
    troubles = {each["cluster"]: each["trouble"] for each in found["clusters"]}
    assert troubles.pop("odd")
    assert set(troubles.values()) == {""}
    assert {each["cluster"] for each in found["items"]} == {"eu", "us"}


def test_ledgers_of_other_clusters_stay_when_main_moves(remote: GitRemote) -> None:
    """They have no commit in common with main: without them, each would be fetched anew from its beginning."""
    settings = RepositorySettings(url=remote.url, cluster="eu", directory=remote.bare.parent / "reader")
    with Repository(settings) as repository:
        repository.poll()
        before = {each.cluster: each.commit for each in repository.ledgers.read()}
        remote.publish("Move main", {"README.md": "more\n"})
        repository.poll()
        assert repository.mirror.tracked()["gitops-bg/state/us"] == before["us"]

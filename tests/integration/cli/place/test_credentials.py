"""Credentials and certificates of the user's own git, for commands; the agent has none of them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.repo.git.errors import AuthenticationFailed
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from tests.integration.cli.conftest import Cli
from tests.support.git.https_server import GitHttpsServer, serving
from tests.support.scenario import App, Scenario

TOKEN = "s3cret-0f-ada"


@pytest.fixture
def server(world: Scenario, tmp_path: Path) -> Iterator[GitHttpsServer]:
    with serving(world.remote.bare.parent, tmp_path / "tls", TOKEN) as running:
        yield running


@pytest.fixture
def web(world: Scenario) -> App:
    app = world.app()
    app.add("v1")
    return app


@pytest.fixture
def home(tmp_path: Path, cli: Cli, server: GitHttpsServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose git trusts the server, and has a helper that notes what it is asked."""
    folder = tmp_path / "home"
    folder.mkdir()
    helper = folder / "helper"
    helper.write_text(
        f'#!/bin/sh\necho "$1" >> {folder}/asked\ncat >> {folder}/asked\n'
        f'[ "$1" != get ] || {{ echo username=ada; cat {folder}/password | sed s/^/password=/; }}\n'
    )
    helper.chmod(0o700)
    (folder / "password").write_text(TOKEN)
    (folder / ".gitconfig").write_text(
        f'[credential]\n\thelper = {helper}\n[http "{server.url}"]\n\tsslCAInfo = {server.certificate}\n'
    )
    for name, value in {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / ".config")}.items():
        monkeypatch.setenv(name, value)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_SSL_CAINFO"):
        monkeypatch.delenv(name, raising=False)
    cli.env["GITOPS_BG_REPO"] = f"{server.url}/remote.git"
    cli.env["GITOPS_BG_KUBECONFIG"] = "/nowhere"
    return folder


def test_a_command_gets_in_as_the_users_git_does(cli: Cli, world: Scenario, web: App, home: Path) -> None:
    cli("set-image", str(web.key), "web=registry.example/web:v2")
    assert "web:v2" in (world.remote.show("main", f"{web.folder}/target.yaml") or "")
    said = (home / "asked").read_text()
    assert "get\n" in said
    assert "store\n" in said
    assert f"host=127.0.0.1:{cli.env['GITOPS_BG_REPO'].split(':')[2].split('/')[0]}" in said
    cached = [each for each in (home.parent / "cache").rglob("*") if each.is_file()]
    assert [each for each in cached if TOKEN.encode() in each.read_bytes()] == []


def test_what_the_remote_does_not_take_is_forgotten_and_said(cli: Cli, web: App, home: Path) -> None:
    (home / "password").write_text("expired")
    said = cli("check", code=3)
    assert "expired" not in said
    assert "your git" in said
    assert "erase\n" in (home / "asked").read_text()


def test_who_has_none_is_told_where_they_were_looked_for(cli: Cli, web: App, home: Path) -> None:
    (home / ".gitconfig").write_text("\n".join((home / ".gitconfig").read_text().splitlines()[2:]) + "\n")
    said = cli("check", code=3)
    assert "git credential fill" in said
    assert "--git-token-file" in said


def test_a_token_of_an_option_goes_first(
    cli: Cli, web: App, home: Path, tmp_path: Path, server: GitHttpsServer
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    cli("check", "--git-token-file", str(tmp_path / "token"), code=1)  # it has no gitops-bg.yaml
    assert not (home / "asked").exists()
    assert base64.b64decode(server.seen_credentials[-1].removeprefix("Basic ")).decode() == f"git:{TOKEN}"


def test_the_agent_has_neither(web: App, home: Path, server: GitHttpsServer, tmp_path: Path) -> None:
    settings = RepositorySettings(
        url=f"{server.url}/remote.git", cluster="prod", directory=tmp_path / "agent", ca_file=server.certificate
    )
    with Repository(settings) as repository, pytest.raises(AuthenticationFailed):
        repository.poll()
    assert not (home / "asked").exists()

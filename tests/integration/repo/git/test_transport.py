"""Only file, https and ssh; credentials reach the server and nothing else."""

from __future__ import annotations

import base64
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core.errors import InvalidInput
from gitops_bg.repo.git.errors import AuthenticationFailed, PushRefused, RemoteUnreachable
from gitops_bg.repo.git.transport import GitTransport, transport_for
from gitops_bg.repo.settings import RepositorySettings
from tests.integration.repo.conftest import WEB, Opener, change, git_calls
from tests.support.git.https_server import GitHttpsServer, serving
from tests.support.git.remote import GitRemote

TOKEN = "s3cret-t0ken"


def transport(url: str, **settings: object) -> GitTransport:
    made = RepositorySettings(url=url, cluster="prod", directory=Path("/nowhere"), **settings)  # type: ignore[arg-type]
    return transport_for(made, Path("/nowhere/askpass"))


@pytest.mark.parametrize(
    ("url", "protocol"),
    [
        ("/srv/git/config.git", "file"),
        ("file:///srv/git/config.git", "file"),
        ("https://git.example.com/team/config.git", "https"),
        ("https://git.example.com:8443/team/config", "https"),
        ("ssh://git@git.example.com:2222/team/config.git", "ssh"),
        ("git@git.example.com:team/config.git", "ssh"),
        ("git.example.com:team/config.git", "ssh"),
        ("ssh://git@[::1]/config.git", "ssh"),
    ],
)
def test_the_three_transports_are_allowed_and_nothing_else_with_them(url: str, protocol: str) -> None:
    found = transport(url)
    assert found.protocol == protocol
    assert found.environment["GIT_ALLOW_PROTOCOL"] == protocol


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/owned",
        "fd::17",
        "http://git.example.com/config.git",
        "git://git.example.com/config.git",
        "ftp://git.example.com/config.git",
        "HTTPS://git.example.com/x",
        "-oProxyCommand=touch /tmp/owned",
        "--upload-pack=touch /tmp/owned",
        "ssh://-oProxyCommand=x/config.git",
        "ssh://git@-oProxyCommand=x/config.git",
        "-oProxyCommand=x:config.git",
        "git@host:-config",
        "git@host::config",
        "relative/path",
        "file://host/path",
        "file:///with\nnewline",
        "https://git.example.com/a b",
        "https://git.example.com/a\nb",
        "https://",
        "",
    ],
)
def test_every_other_transport_is_refused_with_a_remedy(url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        transport(url)
    assert refused.value.problems[0].remedy


@pytest.mark.parametrize(
    "url",
    [
        "https://user:s3cret@git.example.com/x",
        "https://s3cret@git.example.com/x",
        "ssh://git:s3cret@git.example.com/x",
    ],
)
def test_credentials_in_a_url_are_refused_without_repeating_them(url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        transport(url)
    assert "credentials" in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_http_needs_an_explicit_word() -> None:
    assert transport("http://git.example.com/x", allow_http=True).environment["GIT_ALLOW_PROTOCOL"] == "http"


@pytest.mark.parametrize("name", ["", "-x", "a..b", "a b", "x.lock", "a//b", "a\n", "@", "a/.b", "refs/heads/x.", "ü"])
def test_a_branch_or_cluster_that_is_no_ref_is_refused(name: str, tmp_path: Path) -> None:
    for settings in ({"branch": name, "cluster": "prod"}, {"cluster": name}):
        with pytest.raises(InvalidInput):
            RepositorySettings(url="/x", directory=tmp_path, **settings)  # type: ignore[arg-type]


def test_secrets_are_masked(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    found = transport("https://git.example.com/x", token_file=token)
    masked = found.mask(f"fatal: {TOKEN} https://user:other@git.example.com/x")
    assert masked == "fatal: *** https://***@git.example.com/x"
    basic = base64.b64encode(f"{found.environment['GITOPS_BG_GIT_USERNAME']}:{TOKEN}".encode()).decode()
    assert found.mask(f"remote: Basic {basic}") == "remote: Basic ***"
    token.unlink()
    assert found.mask(f"{TOKEN}") == TOKEN


class TestSsh:
    def test_strict_options_reach_ssh(self, opened: Opener, tmp_path: Path) -> None:
        recorded = tmp_path / "recorded"
        program = tmp_path / "recording ssh"
        program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {shlex.quote(str(recorded))}\nexit 255\n")
        program.chmod(0o755)
        repository = opened(
            "git@git.example.com:team/config.git",
            ssh_program=str(program),
            ssh_key_file=tmp_path / "my key",
            known_hosts_file=tmp_path / "known hosts",
        )
        with pytest.raises(RemoteUnreachable):
            repository.poll()
        arguments = recorded.read_text().splitlines()
        assert "-oBatchMode=yes" in arguments
        assert "-oStrictHostKeyChecking=yes" in arguments
        assert f"-oUserKnownHostsFile={tmp_path / 'known hosts'}" in arguments
        assert arguments[arguments.index("-i") + 1] == str(tmp_path / "my key")
        assert "-oIdentitiesOnly=yes" in arguments
        assert arguments[-2:] == ["git@git.example.com", "git-upload-pack 'team/config.git'"]

    def test_an_unknown_host_is_an_authentication_failure(self, opened: Opener, tmp_path: Path) -> None:
        program = tmp_path / "ssh"
        program.write_text("#!/bin/sh\necho 'Host key verification failed.' >&2\nexit 255\n")
        program.chmod(0o755)
        with pytest.raises(AuthenticationFailed, match="Host key verification failed"):
            opened("git@git.example.com:x", ssh_program=str(program)).poll()


class TestHttps:
    @pytest.fixture
    def server(self, remote: GitRemote, tmp_path: Path) -> Iterator[GitHttpsServer]:
        remote.run("config", "http.receivepack", "true", cwd=remote.bare)
        with serving(remote.bare.parent, tmp_path, TOKEN) as server:
            yield server

    @pytest.fixture
    def settings(self, server: GitHttpsServer, tmp_path: Path) -> dict[str, object]:
        token = tmp_path / "token"
        token.write_text(f"{TOKEN}\n")
        return {"url": f"{server.url}/remote.git", "token_file": token, "ca_file": server.certificate}

    def test_fetch_and_push_with_a_token(self, settings: dict[str, object], opened: Opener, remote: GitRemote) -> None:
        repository = opened(**settings)
        assert repository.poll().apps == 2
        assert set(repository.files(WEB)) == {"app.yaml", "primary.yaml", "target.yaml"}
        repository.promotions.commit([change(repository)])
        assert len(remote.log()) == 2

    def test_the_token_is_in_no_file_and_no_argument_of_ours(
        self, settings: dict[str, object], opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import subprocess

        seen: list[str] = []
        real = subprocess.Popen.__init__

        def recording(self: object, command: object, *rest: object, **options: object) -> None:
            seen.append(f"{command} {options.get('env')}")
            real(self, command, *rest, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(subprocess.Popen, "__init__", recording)
        repository = opened(**settings)
        repository.poll()
        repository.promotions.commit([change(repository)])
        files = [path.read_bytes() for path in (tmp_path / "mirror").rglob("*") if path.is_file()]
        assert not any(TOKEN in line for line in seen if "git" in line.split(" ")[0])
        assert not any(TOKEN.encode() in content for content in files)

    def test_a_rotated_token_is_taken_up(
        self, settings: dict[str, object], opened: Opener, server: GitHttpsServer
    ) -> None:
        repository = opened(**settings)
        repository.poll()
        server.token = "n3w"
        with pytest.raises(AuthenticationFailed):
            repository.poll()
        Path(str(settings["token_file"])).write_text("n3w")
        assert not repository.poll().moved

    def test_a_wrong_or_missing_token_is_an_authentication_failure(
        self, settings: dict[str, object], opened: Opener
    ) -> None:
        Path(str(settings["token_file"])).write_text("wr0ng")
        with pytest.raises(AuthenticationFailed) as failed:
            opened(**settings).poll()
        assert "wr0ng" not in str(failed.value)
        with pytest.raises(AuthenticationFailed):
            opened(mirror="other", **{**settings, "token_file": None}).poll()

    def test_a_redirect_does_not_get_the_token(
        self, settings: dict[str, object], opened: Opener, server: GitHttpsServer, remote: GitRemote, tmp_path: Path
    ) -> None:
        with serving(remote.bare.parent, tmp_path / "elsewhere", TOKEN) as elsewhere:
            server.redirect_to = elsewhere.url
            with pytest.raises(RemoteUnreachable):
                opened(**settings).poll()
            assert elsewhere.seen_credentials == []

    def test_an_unknown_certificate_is_refused(self, settings: dict[str, object], opened: Opener) -> None:
        with pytest.raises(RemoteUnreachable, match=r"certificate.*--git-ca-file"):
            opened(**{**settings, "ca_file": None}).poll()

    @pytest.mark.parametrize("certificate", [{"named": "127.0.0.9"}, {"days": -1}], ids=["another host", "the past"])
    def test_a_certificate_of_another_host_or_of_the_past_is_refused(
        self, certificate: dict[str, Any], opened: Opener, remote: GitRemote, tmp_path: Path
    ) -> None:
        (tmp_path / "token").write_text(TOKEN)
        with serving(remote.bare.parent, tmp_path / "wrong", TOKEN, **certificate) as server:
            settings = {"url": f"{server.url}/remote.git", "ca_file": server.certificate}
            with pytest.raises(RemoteUnreachable, match=r"certificate.*--git-ca-file"):
                opened(**settings, token_file=tmp_path / "token").poll()
            assert server.seen_credentials == []

    def test_a_token_that_may_only_read_ends_in_push_refused(
        self, settings: dict[str, object], opened: Opener, server: GitHttpsServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository = opened(**settings)
        repository.poll()
        server.refuse_pushes = True
        calls = git_calls(repository, monkeypatch)
        with pytest.raises(PushRefused, match="403"):
            repository.promotions.commit([change(repository)])
        assert calls.count("push") == 2


class TestEnvironment:
    def test_the_machines_git_configuration_is_not_looked_at(
        self, opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        evil = tmp_path / "evil"
        (tmp_path / "gitconfig").write_text(
            f'[url "file:///nowhere"]\n\tinsteadOf = "file://"\n[core]\n\tx = "{evil}"\n'
        )
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", "url.file:///nowhere.insteadOf")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", "file://")
        monkeypatch.setenv("GIT_DIR", "/nowhere")
        monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "/nowhere")
        monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")
        assert opened().poll().apps == 2

    def test_hooks_and_settings_in_the_mirror_do_not_run(self, opened: Opener, tmp_path: Path) -> None:
        first = opened()
        first.poll()
        first.close()
        owned = tmp_path / "owned"
        script = tmp_path / "script"
        script.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(owned))}\n")
        script.chmod(0o755)
        mirror = tmp_path / "mirror" / "mirror.git"
        (mirror / "hooks").mkdir()
        for hook in ("reference-transaction", "pre-push", "post-checkout", "pre-auto-gc"):
            os.link(script, mirror / "hooks" / hook)
        with (mirror / "config").open("a") as config:
            config.write(f'[core]\n\tfsmonitor = "{script}"\n\tsshCommand = "{script}"\n')
            config.write(f'[remote "origin"]\n\tuploadpack = "{script}"\n')
        repository = opened()
        repository.poll()
        repository.promotions.commit([change(repository)])
        repository.mirror.tidy()
        assert not owned.exists()

"""Who asks: tokens out of files that change, GitHub Apps, and what is said where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from gitops_bg.core.errors import Refused
from gitops_bg.forge.adapters.rest_forge import RestForge
from gitops_bg.forge.address import NoForge
from gitops_bg.forge.connect import AppSettings, CredentialUnusable, ForgeEndpoint, TokenFile, connect
from gitops_bg.forge.port import TokenRefused
from tests.support.servers.backend import Asked, Backend, Reply, serving

NOW = datetime(2026, 11, 22, 20, tzinfo=UTC)
_CONNECTED: list[RestForge] = []


@pytest.fixture(autouse=True)
def closed_at_the_end() -> Iterator[None]:
    yield
    while _CONNECTED:
        _CONNECTED.pop().close_connections()


def connected(settings: ForgeEndpoint, now=lambda: NOW) -> RestForge:
    forge = connect(settings, now)
    _CONNECTED.append(forge)
    return forge


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class TestTokenFiles:
    @pytest.mark.parametrize(
        ("kind", "header"), [("github", "Bearer one"), ("gitlab", "Bearer one"), ("gitea", "token one")]
    )
    def test_the_token_goes_as_each_forge_wants_it(self, backend: Backend, tmp_path: Path, kind: str, header: str):
        backend.says([])
        file = tmp_path / "token"
        file.write_text("one\n")
        forge = connected(ForgeEndpoint(remote=f"{backend.url}/a/b", kind=kind, token_file=file))
        forge.open_pulls("")
        assert backend.asked[-1].headers["authorization"] == header

    def test_a_token_that_was_rotated_is_used_with_the_next_request(self, backend: Backend, tmp_path: Path):
        backend.says([])
        file = tmp_path / "token"
        file.write_text("one")
        forge = connected(ForgeEndpoint(remote=f"{backend.url}/a/b", kind="gitea", token_file=file))
        forge.open_pulls("")
        file.write_text("two")
        forge.open_pulls("")
        assert [asked.headers["authorization"] for asked in backend.asked] == ["token one", "token two"]

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "is empty"),
            (b"  \n", "is empty"),
            (b"one two", "one token"),
            (b"\xff\xfe", "no text"),
            ("ö".encode(), "one token"),
        ],
    )
    def test_a_file_without_one_token_is_named(self, tmp_path: Path, content: bytes, words: str):
        file = tmp_path / "token"
        file.write_bytes(content)
        with pytest.raises(CredentialUnusable, match=f"token.*{words}") as error:
            TokenFile(file).headers()
        assert isinstance(error.value, Refused)

    def test_a_file_that_is_missing_is_named(self, tmp_path: Path):
        with pytest.raises(CredentialUnusable, match="token cannot be read: No such file"):
            TokenFile(tmp_path / "token").headers()

    def test_without_a_token_nothing_is_asked(self, backend: Backend):
        with pytest.raises(CredentialUnusable, match="--forge-token-file"):
            connected(ForgeEndpoint(remote=f"{backend.url}/a/b", kind="gitea"))
        assert backend.asked == []

    def test_a_refused_token_stands_in_no_error(self, backend: Backend, tmp_path: Path):
        backend.answer = lambda asked: Reply({"message": "no"}, 401)
        (tmp_path / "token").write_text("tok-3f9c-secret")
        settings = ForgeEndpoint(remote=f"{backend.url}/a/b", kind="github", token_file=tmp_path / "token")
        with pytest.raises(TokenRefused) as error:
            connected(settings).open_pulls("")
        assert "3f9c" not in repr(error.value)

    def test_a_path_of_this_machine_has_no_forge(self):
        with pytest.raises(NoForge, match="--repo"):
            connected(ForgeEndpoint(remote="/srv/git/config.git"))

    def test_a_server_nobody_knows_is_asked_what_it_is_without_a_token(self, backend: Backend, tmp_path: Path):
        (tmp_path / "token").write_text("one")
        backend.answer = lambda asked: Reply({"version": "1.26.0"} if asked.path == "/api/v1/version" else [])
        forge = connected(ForgeEndpoint(remote=f"{backend.url}/a/b", token_file=tmp_path / "token"))
        assert "authorization" not in backend.asked[0].headers
        forge.open_pulls("")
        assert backend.asked[-1].path == "/api/v1/repos/a/b/pulls"


class TestWhoGetsIt:
    """`forge.url` is in the repository: who may merge there must not be able to send the token anywhere."""

    @pytest.mark.parametrize(
        ("remote", "kind", "url", "host"),
        [
            ("https://git.test/a/b", "gitea", "", ""),
            ("git@git.test:a/b", "gitea", "https://git.test/code", ""),
            ("git@git.test:a/b", "gitea", "https://GIT.test:8443", "git.test:8443"),
            ("https://git.test:8443/a/b", "gitea", "https://git.test:8443", ""),
            ("https://git.test:8443/a/b", "gitea", "https://git.test", ""),
            ("git@github.com:a/b", "github", "", ""),
            ("git@github.com:a/b", "github", "https://api.github.com", ""),
            ("git@acme.ghe.com:a/b", "github", "https://acme.ghe.com", ""),
            ("git@mirror.test:a/b", "github", "https://github.com/a/b", "github.com"),
            ("git@mirror.test:a/b", "gitea", "https://git.test", "Git.test"),
            ("http://git.test:3000/a/b", "gitea", "http://git.test:3000", ""),
        ],
    )
    def test_the_server_of_the_repository_and_the_one_the_operator_names(
        self, tmp_path: Path, remote: str, kind: str, url: str, host: str
    ):
        connected(ForgeEndpoint(remote=remote, kind=kind, url=url, host=host, token_file=tmp_path / "token"))

    @pytest.mark.parametrize(
        ("remote", "url", "host", "words"),
        [
            ("git@git.test:a/b", "https://evil.test", "", "--forge-host evil.test"),
            ("git@git.test:a/b", "https://git.test.evil.test", "", "--forge-host"),
            ("git@git.test:a/b", "https://evil.test/git.test/b", "", "--forge-host"),
            ("git@git.test:a/b", "https://evil.test#@git.test", "", "--forge-host evil.test"),
            ("git@git.test:a/b", "https://git.test\\@evil.test", "", "no address"),
            ("git@git.test:a/b", "https://evil.test", "other.test", "--forge-host evil.test"),
            ("git@git.test:a/b", "https://git.test:8443", "", "--forge-host git.test:8443"),
            ("https://git.test:8443/a/b", "https://git.test:9443", "", "--forge-host git.test:9443"),
            ("git@git.test:a/b", "https://evil.test:8443", "evil.test", "--forge-host evil.test:8443"),
            ("https://git.test/a/b", "http://git.test", "", "not https"),
            ("git@git.test:a/b", "http://git.test", "", "not https"),
        ],
    )
    def test_nobody_else(self, tmp_path: Path, remote: str, url: str, host: str, words: str):
        settings = ForgeEndpoint(remote=remote, kind="gitea", url=url, host=host, token_file=tmp_path / "token")
        with pytest.raises((CredentialUnusable, NoForge), match=words):
            connected(settings)

    @pytest.mark.parametrize("issuer", ["", "https://sso.test", "https://git.test:8443", "http://git.test:443"])
    def test_the_token_of_a_person_goes_only_to_who_gave_it(self, issuer: str):
        settings = ForgeEndpoint(remote="git@git.test:a/b", kind="gitea", token="tok", issuer="https://git.test/")
        connected(settings)
        with pytest.raises(CredentialUnusable, match=r"people log in at .*, which is not the forge"):
            connected(replace(settings, issuer=issuer))

    def test_nobody_else_is_even_asked_what_it_is(self, backend: Backend, tmp_path: Path):
        settings = ForgeEndpoint(remote="git@git.test:a/b", url=backend.url, token_file=tmp_path / "token")
        with pytest.raises(CredentialUnusable, match="--forge-host"):
            connected(settings)
        assert backend.asked == []


class App:
    """GitHub's side of an App: checks each JWT, gives tokens for an hour."""

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        self._public = key.public_key()
        self.now = NOW
        self.given = 0
        self.revoked: set[str] = set()

    def __call__(self, asked: Asked) -> Reply:
        _, _, token = asked.headers["authorization"].partition(" ")
        if asked.path.endswith(("/installation", "/access_tokens")):
            claims = jwt.decode(
                token, self._public, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False}
            )
            assert claims["iss"] == "Iv1.app"
            assert claims["iat"] <= self.now.timestamp() < claims["exp"] <= self.now.timestamp() + 600
        if asked.path.endswith("/installation"):
            return Reply({"id": 77})
        if asked.path == "/api/v3/app/installations/77/access_tokens":
            assert asked.json() == {"repositories": ["b"]}
            self.given += 1
            return Reply({"token": f"ghs_{self.given}", "expires_at": f"{self.now + timedelta(hours=1):%FT%TZ}"}, 201)
        return Reply({"message": "Bad credentials"}, 401) if token in self.revoked else Reply([])


class TestGitHubApp:
    @pytest.fixture
    def key_file(self, tmp_path: Path, key: rsa.RSAPrivateKey) -> Path:
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        (tmp_path / "key.pem").write_bytes(pem)
        return tmp_path / "key.pem"

    def forge(self, backend: Backend, key_file: Path, app: App):
        backend.answer = app
        settings = ForgeEndpoint(remote=f"{backend.url}/a/b", kind="github", app=AppSettings("Iv1.app", key_file))
        return connected(settings, lambda: app.now)

    def test_its_token_is_used_until_shortly_before_its_end(self, backend: Backend, key_file: Path, key):
        app = App(key)
        forge = self.forge(backend, key_file, app)
        for minutes, given in ((0, 1), (54, 1), (1, 2), (54, 2), (2, 3)):
            app.now += timedelta(minutes=minutes)
            forge.open_pulls("")
            assert app.given == given
            assert backend.asked[-1].headers["authorization"] == f"Bearer ghs_{given}"

    def test_a_token_that_was_revoked_is_not_used_twice(self, backend: Backend, key_file: Path, key):
        app = App(key)
        forge = self.forge(backend, key_file, app)
        app.revoked = {"ghs_1"}
        with pytest.raises(TokenRefused):
            forge.open_pulls("")
        assert forge.open_pulls("") == ()
        assert app.given == 2

    def test_a_key_that_is_none_is_named(self, backend: Backend, tmp_path: Path, key):
        (tmp_path / "key.pem").write_text("-----BEGIN nothing-----")
        with pytest.raises(CredentialUnusable, match=r"key\.pem should hold an RSA private key") as error:
            self.forge(backend, tmp_path / "key.pem", App(key)).open_pulls("")
        assert "BEGIN" not in str(error.value)
        assert backend.asked == []

    def test_only_github_takes_one(self, backend: Backend, key_file: Path):
        settings = ForgeEndpoint(remote=f"{backend.url}/a/b", kind="gitea", app=AppSettings("1", key_file))
        with pytest.raises(CredentialUnusable, match="takes no GitHub App"):
            connected(settings)

"""A real Gitea for a test run: its database is made once, and each worker process has one server.

Users, each with the password `password(name)`: `admin`, and `agent`, `ana`, `ben`. No styles, no scripts: it is
for the API, Git over HTTP and webhooks.
"""

from __future__ import annotations

import base64
import fcntl
import json
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from gitops_bg.cli.demo.gitea import Assets, command, environment, password
from tests.support.agent.leash import leashed
from tests.support.cluster.control_plane import free_ports
from tests.support.cluster.pki import Authority
from tests.support.waiting import eventually

HOW_TO_GET_IT = (
    "no `gitea` on the PATH, and GITOPS_BG_FORGE is not set or lacks bin/gitea or static/; point it to a folder "
    "with a Gitea server (bin/gitea, with SQLite inside) and its static files"
)
USERS = ("agent", "ana", "ben")


class Refused(AssertionError):
    """Gitea did not do what a test's user asked."""


class Reply(NamedTuple):
    """One answer."""

    status: int
    data: Any


class Gitea:
    """A running server."""

    def __init__(self, port: int, home: Path, authority: Path | None = None) -> None:
        self.url = f"{'https' if authority else 'http'}://127.0.0.1:{port}"
        self._trust = ssl.create_default_context(cafile=authority) if authority else None
        self.repositories = home / "data" / "gitea-repositories"
        """Where its bare repositories lie, for who looks at one without asking for it over HTTP."""
        self._repositories = 0

    def call(self, method: str, path: str, body: Any = None, *, user: str, expect: tuple[int, ...] = ()) -> Any:
        """One request of a person; its JSON. A status that is neither a success nor expected is an error."""
        reply = self.ask(method, path, body, user=user)
        if reply.status >= 300 and reply.status not in expect:
            raise Refused(f"{method} {path}: {reply.status} {reply.data}")
        return reply.data

    def merge(self, pull: str, how: str, user: str) -> None:
        """Press the button of a pull request (the path of it), as often as Gitea asks to: it answers 405 until it has
        looked whether that is possible. One that was merged while the answer was an error is merged.
        """

        def is_done() -> bool:
            answer = self.ask("POST", f"{pull}/merge", {"Do": how}, user=user)
            if answer.status != 200:
                assert self.call("GET", pull, user=user)["merged"], answer
            return True

        eventually(is_done, what=f"{how} is done")

    def ask(self, method: str, path: str, body: Any = None, *, user: str) -> Reply:
        basic = base64.b64encode(f"{user}:{password(user)}".encode()).decode()
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Basic {basic}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60, context=self._trust) as answer:
                return Reply(answer.status, _decoded(answer.read()))
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, _decoded(error.read()))

    def token(self, user: str, *scopes: str) -> str:
        """An access token with these scopes only."""
        self._repositories += 1
        body = {"name": f"token-{self._repositories}", "scopes": list(scopes)}
        return str(self.call("POST", f"/users/{user}/tokens", body, user=user)["sha1"])

    def repository(self, name: str = "", **settings: Any) -> str:
        """A new empty one of `admin`, in which the others may write; its name, which is a number's without one."""
        self._repositories += 1
        name = name or f"config-{self._repositories}"
        self.call("POST", "/user/repos", {"name": name, "default_branch": "main"}, user="admin")
        if settings:
            self.call("PATCH", f"/repos/admin/{name}", settings, user="admin")
        for user in USERS:
            self.call("PUT", f"/repos/admin/{name}/collaborators/{user}", {"permission": "write"}, user="admin")
        # Starts the whole server for each ref that is pushed, and does nothing: a third of what a push costs.
        (self.repositories / "admin" / f"{name}.git" / "hooks" / "update").unlink()
        return name

    def git_url(self, name: str, user: str) -> str:
        """Where a person pushes to, with the password."""
        scheme, _, host = self.url.partition("://")
        return f"{scheme}://{user}:{password(user)}@{host}/admin/{name}.git"


@contextmanager
def running(assets: Assets, template: Path, folder: Path, authority: Authority | None = None) -> Iterator[Gitea]:
    """A server with a copy of the database in ``template``, which is made by whoever comes first.

    With an ``authority`` it speaks HTTPS, as one that people reach over a network.
    """
    _make_once(assets, template)
    shutil.copytree(template, folder, dirs_exist_ok=True)
    (port,) = free_ports(1)
    start = command(assets, folder, port)
    if authority:
        certificate, key = authority.server("forge", "127.0.0.1")
        settings = folder / "app.ini"
        https = f"[server]\nPROTOCOL = https\nCERT_FILE = {certificate}\nKEY_FILE = {key}\n"
        plain = settings.read_text().replace("http://127.0.0.1", "https://127.0.0.1")
        settings.write_text(plain.replace("[server]\n", https))
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(leashed([*start, "web"]), stdout=log, stderr=log, env=environment(folder))
    try:
        gitea = Gitea(port, folder, authority.certificate if authority else None)
        eventually(lambda: _answers(gitea, server), what=f"Gitea answers; its log is in {folder}")
        yield gitea
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _make_once(assets: Assets, template: Path) -> None:
    template.parent.mkdir(parents=True, exist_ok=True)
    with template.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (template / "done").exists():
            return
        template.mkdir()
        start = command(assets, template, 1)
        _run([*start, "migrate"], template)
        for user in ("admin", *USERS):
            create = ["admin", "user", "create", "--username", user, "--password", password(user)]
            rest = ["--email", f"{user}@example.com", "--must-change-password=false"]
            _run([*start, *create, *rest, *(["--admin"] if user == "admin" else [])], template)
        (template / "done").touch()


def _run(words: list[str], home: Path) -> None:
    done = subprocess.run(words, env=environment(home), capture_output=True, timeout=300)
    if done.returncode != 0:
        raise Refused(f"{words}: {done.stderr.decode()[-2000:]}")


def _answers(gitea: Gitea, server: subprocess.Popen[bytes]) -> bool:
    if server.poll() is not None:
        raise RuntimeError(f"Gitea ended with {server.returncode}")
    try:
        return gitea.ask("GET", "/version", user="admin").status == 200
    except (urllib.error.URLError, ConnectionError):
        return False


def _decoded(text: bytes) -> Any:
    return json.loads(text) if text else {}

"""A Gitea server for the demo: started on a free local port with its own database, removed at the end.

It knows its users and their rights. It must know nothing of deployments.
"""

import os
import shutil
import socket
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import NotJson, read_json
from gitops_bg.outbound.http import NoResponse
from gitops_bg.outbound.rest import RestClient, RestSettings

ADMIN = "ada"
"""Owns the repository; the demo's clone pushes as her."""
REVIEWER = "grace"
AGENT = "agent"

_START_SECONDS = 60.0
_SETTINGS = """\
APP_NAME = gitops-bg demo
RUN_MODE = prod
WORK_PATH = {home}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
{static}
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
PATH = {home}/forge.db
[security]
INSTALL_LOCK = true
SECRET_KEY = only-on-this-machine
PASSWORD_HASH_ALGO = pbkdf2$1$50
[oauth2]
JWT_SECRET = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
[service]
DISABLE_REGISTRATION = true
[webhook]
ALLOWED_HOST_LIST = loopback
DELIVER_TIMEOUT = 5
[queue]
TYPE = channel
[indexer]
ISSUE_INDEXER_TYPE = db
[cron]
ENABLED = false
[actions]
ENABLED = false
[packages]
ENABLED = false
[log]
MODE = console
LEVEL = Warn
"""


class GiteaFailed(Exception):
    """The server did not start, or refused a request; the message says which."""


@dataclass(frozen=True, slots=True)
class Assets:
    """The program, and the folder of its static files if they are not built in."""

    program: Path
    static: Path | None = None


def gitea_at_hand() -> Assets | None:
    """Return the Gitea of this machine: in the folder that GITOPS_BG_FORGE names, else on the PATH; None
    without one.
    """
    named = os.environ.get("GITOPS_BG_FORGE")
    if named:
        program, static = Path(named).resolve() / "bin" / "gitea", Path(named).resolve() / "static"
        if os.access(program, os.X_OK) and static.is_dir():
            return Assets(program, static)
    on_path = shutil.which("gitea")
    return Assets(Path(on_path)) if on_path else None


def command(assets: Assets, home: Path, port: int, more: str = "") -> list[str]:
    """Write the settings below ``home``, and ``more`` of them; return the command of a server there, to which a
    subcommand is appended.
    """
    static = f"STATIC_ROOT_PATH = {assets.static}" if assets.static else ""
    settings = home / "app.ini"
    settings.write_text(_SETTINGS.format(home=home, port=port, static=static) + more, encoding="utf-8")
    return [str(assets.program), "--config", str(settings)]


def environment(home: Path) -> Mapping[str, str]:
    """Return an environment without the machine's git configuration; two threads are enough."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GOMAXPROCS": "2",
    }


def password(user: str) -> str:
    """Return the password of a user; it is no secret: the server listens on this machine alone."""
    return f"{user}-pass-1"


class Repository:
    """One repository of the server, and what its users do there."""

    def __init__(self, server: str, home: Path, name: str) -> None:
        """``server`` is its URL, ``home`` its folder; the repository does not exist yet: `create` it."""
        self._server = server
        self._name = name
        self.url = f"{server}/{ADMIN}/{name}.git"
        self.bare = home / "data" / "gitea-repositories" / ADMIN / f"{name}.git"
        """Where it lies on this machine."""

    def create(self, settings: Mapping[str, Any]) -> None:
        """Create it, empty, with users who may write. Raises ``GiteaFailed``."""
        self._ask("POST", "/user/repos", {"name": self._name, "default_branch": "main"}, ADMIN)
        self.ask("PATCH", "", settings)
        for user in (REVIEWER, AGENT):
            self.ask("PUT", f"/collaborators/{user}", {"permission": "write"})

    def token(self, user: str) -> str:
        """Return an access token with which a user may push and open pull requests."""
        scopes = ["write:repository", "write:issue"]
        return str(self._ask("POST", f"/users/{user}/tokens", {"name": "demo", "scopes": scopes}, user)["sha1"])

    def user_id(self, user: str) -> int:
        """Return the number of an account, which stays its own whatever it is called."""
        return int(self._ask("GET", f"/users/{user}", None, ADMIN)["id"])

    def ask(self, method: str, path: str, body: Any = None, user: str = ADMIN) -> Any:
        """Send one request about the repository; return its JSON. Raises ``GiteaFailed`` with the server's message."""
        return self._ask(method, f"/repos/{ADMIN}/{self._name}{path}", body, user)

    def pull_requests(self, state: str = "open") -> list[Mapping[str, Any]]:
        """Return the pull requests in a state, newest first."""
        return list(self.ask("GET", f"/pulls?state={state}"))

    def status(self, commit: str) -> Mapping[str, Any]:
        """Return the newest commit status of a commit; empty without one."""
        return next(iter(self.ask("GET", f"/commits/{commit}/statuses")), {})

    def _ask(self, method: str, path: str, body: Any, user: str) -> Any:
        return _ask(self._server, user, method, path, body)


@contextmanager
def running(assets: Assets, home: Path, more: str = "") -> Iterator[str]:
    """Run a server below the folder ``home``, which must exist, with ``more`` settings; yield its URL. Raises
    ``GiteaFailed``.
    """
    port = _free_port()
    start = command(assets, home, port, more)
    _run([*start, "migrate"], home)
    for user in (ADMIN, REVIEWER, AGENT):
        create = ["admin", "user", "create", "--username", user, "--password", password(user)]
        rest = ["--email", f"{user}@example.com", "--must-change-password=false"]
        _run([*start, *create, *rest, *(["--admin"] if user == ADMIN else [])], home)
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen([*start, "web"], stdout=log, stderr=log, env=dict(environment(home)))
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, server, home / "server.log")
        yield url
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(words: list[str], home: Path) -> None:
    done = subprocess.run(words, env=dict(environment(home)), capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise GiteaFailed(f"{' '.join(words)}: exit {done.returncode}\n{(done.stderr or done.stdout).strip()[-2000:]}")


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while not _is_up(url):
        if server.poll() is not None or time.monotonic() > until:
            said = log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise GiteaFailed(f"Gitea does not answer at {url}\n{said}")
        time.sleep(0.05)


def _is_up(url: str) -> bool:
    try:
        _ask(url, ADMIN, "GET", "/version", None)
    except GiteaFailed:
        return False
    return True


def _ask(server: str, user: str, method: str, path: str, body: Any) -> Any:
    """Send one request of a user, on its own connection."""
    basic = b64encode(f"{user}:{password(user)}".encode()).decode()
    client = RestClient(RestSettings(f"{server}/api/v1"), lambda: {"Authorization": f"Basic {basic}"})
    try:
        answer = client.ask(method, path, body=body)
    except NoResponse as error:
        raise GiteaFailed(str(error)) from error
    finally:
        client.close()
    if answer.status >= 300:
        raise GiteaFailed(f"{method} {path}: HTTP {answer.status}: {_message(answer.body)}")
    return read_json(answer.body) if answer.body else {}


def _message(body: bytes) -> str:
    with suppress(NotJson, KeyError, TypeError):
        return str(read_json(body)["message"])
    return body.decode(errors="replace").strip()

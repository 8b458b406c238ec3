"""A canary in every place that a secret may come from; none in anything that the agent, or a command, says anywhere."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import logging
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
import yaml

from gitops_bg.agent.logs import ROOT, JsonFormatter, TextFormatter, forget_secrets
from gitops_bg.cli.session.connect import credential_file
from gitops_bg.cluster.api.access import Access
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.web.app import application
from gitops_bg.web.server import WebServer
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.paths import collection
from tests.support.command_line import Cli
from tests.support.configuration import PASSWORDS, reading, secret
from tests.support.git import https_server
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, Scenario, scenario
from tests.support.servers.backend import Asked, Backend, Reply, serving

PLACES = (
    "stringData in Git", "data in Git", "data of a Secret that no pod uses", "the next stringData in Git",
    "a live Secret, for hooks", "a live Secret, for metrics", "a live Secret, in the URL of a metric",
    "the address of a chat", "the token of Git", "the secret of webhooks", "the token of the API",
    "the token of the kubeconfig", "a file that is broken", "a secret in small letters", "a SealedSecret",
    "a list of Secrets", "a Secret with a wrong field",
)  # fmt: skip
HEAD = {"apiVersion": "gitops-bg.dev/v1alpha1"}


def canary(place: str) -> str:
    """It has what URLs and JSON write otherwise."""
    assert place in PLACES
    return f'{hashlib.sha256(place.encode()).hexdigest()[:32]}/+"'


def needles(place: str) -> Iterator[str]:
    """Every form in which a canary would be recognised: as it is, encoded, reversed, and each half of it."""
    text = canary(place)
    middle = len(text) // 2
    yield from (text, text[::-1], text[:middle], text[middle:-3], text[middle - 1 :: -1])
    yield from (quote(text, safe=""), json.dumps(text)[1:-1], text.encode().hex(), text.encode().hex().upper())
    for before in (b"", b"1", b"12"):
        encoded = base64.b64encode(before + text.encode()).decode()
        yield encoded[4:-4]


class Heard:
    """What was said, by where."""

    def __init__(self) -> None:
        self.said: dict[str, str] = {}

    def note(self, where: str, what: object) -> None:
        self.said[where] = self.said.get(where, "") + (what if isinstance(what, str) else json.dumps(what))

    def found(self) -> list[str]:
        """Where which canary was heard."""
        return [
            f"{place}, in {where}: …{what[max(at - 60, 0) : at + 60]!r}…"
            for place in PLACES
            for where, what in self.said.items()
            if (at := max(map(what.find, needles(place)))) >= 0
        ]


@pytest.fixture
def heard() -> Iterator[Heard]:
    """It listens to the log, in both of its forms, and to each process that is started."""
    made, streams = Heard(), {"the log": TextFormatter(), "the log in JSON": JsonFormatter()}
    handlers = []
    for formatter in streams.values():
        handler = logging.StreamHandler(io.StringIO())
        handler.setFormatter(formatter)
        handlers.append(handler)
    logger, level = logging.getLogger(ROOT), logging.getLogger(ROOT).level
    logger.handlers += handlers
    logger.setLevel(logging.DEBUG)
    real = subprocess.Popen.__init__

    def listening(self: Any, command: Any, *rest: Any, **options: Any) -> None:
        made.note("processes", f"{command} {options.get('env') or dict(os.environ)}\n")
        real(self, command, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", listening)
        yield made
    logger.setLevel(level)
    for where, handler in zip(streams, handlers, strict=True):
        logger.removeHandler(handler)
        made.note(where, handler.stream.getvalue())
    found = made.found()
    assert len(made.said["the log"]) > 1000
    assert not found, "\n".join(found)


def _echo(asked: Asked) -> Reply:
    """A service that says back all it was told, in every way, as often as it takes to be cut anywhere."""
    said = "\n".join((*asked.headers.values(), asked.target, asked.body.decode(errors="replace")))
    encoded = [base64.b64encode(f"{before}{said}".encode()).decode() for before in ("", "1", "12")]
    return Reply({"refused": " ".join((said, quote(said), said.encode().hex(), *encoded)) * 9}, 401)


@pytest.fixture
def web(sandbox_cluster: SandboxCluster, tmp_path: Path, heard: Heard) -> Iterator[App]:
    """The app `web`, its v1 live, with every secret that there can be; its remote asks for a token."""
    files = {}
    for place in ("the token of Git", "the secret of webhooks", "the token of the API"):
        files[place] = tmp_path / place.replace(" ", "-")
        files[place].write_text(canary(place))
        credential_file("--a-file", files[place])
    kubeconfig = json.loads(sandbox_cluster.kubeconfig.read_text())
    for user in kubeconfig["users"]:
        user["user"]["token"] = canary("the token of the kubeconfig")
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
    remote = GitRemote(tmp_path / "git")
    remote.run("config", "http.receivepack", "true", cwd=remote.bare)
    with ExitStack() as stack:
        stack.callback(forget_secrets)
        git = stack.enter_context(https_server.serving(remote.bare.parent, tmp_path, canary("the token of Git")))
        repository = RepositorySettings(
            url=f"{git.url}/{remote.bare.name}",
            cluster="test",
            directory=tmp_path / "mirror",
            token_file=files["the token of Git"],
            ca_file=git.certificate,
        )
        settings = {
            "repository": repository,
            "access": Access(kubeconfig=tmp_path / "kubeconfig"),
            "webhook_secret_file": files["the secret of webhooks"],
            "api_token_file": files["the token of the API"],
        }
        world = stack.enter_context(scenario(sandbox_cluster, tmp_path, remote=remote, **settings))
        world.start()
        app = reading(world.app())
        app.objects[PASSWORDS] = secret(db=canary("stringData in Git"))
        app.objects[PASSWORDS]["data"] = {"other": _base64("data in Git")}
        unused = {"name": "unused", "namespace": world.namespace}
        app.objects["unused.yaml"] = secret(db=canary("data of a Secret that no pod uses")) | {"metadata": unused}
        yield app.deploy("v1")


def _base64(place: str) -> str:
    return base64.b64encode(canary(place).encode()).decode()


def _live_secret(world: Scenario, name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": world.namespace}
    world.cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
    return {"name": name}


def _asking_for_secrets(web: App, service: Backend) -> None:
    """A hook, an analysis and an alert whose service gets a secret, and says it back."""
    world = web.scenario
    _live_secret(world, "hooks", token=canary("a live Secret, for hooks"))
    metric, url = canary("a live Secret, for metrics"), canary("a live Secret, in the URL of a metric")
    _live_secret(world, "metrics", token=metric, key=url)
    chat = service.url.replace("http", "json", 1)
    _live_secret(world, "chat", address=f"{chat}/{quote(canary('the address of a chat'), safe='')}")
    args = [
        {"name": each, "valueFrom": {"secretKeyRef": {"name": "metrics", "key": each}}} for each in ("token", "key")
    ]
    request = {
        "url": f"{service.url}/metric?key={{{{args.key}}}}",
        "headers": [{"key": "Authorization", "value": "Bearer {{args.token}}"}],
        "jsonPath": "{$.ok}",
    }
    ask = {"name": "ok", "provider": {"web": request}, "successCondition": "result == true", "consecutiveErrorLimit": 0}
    template = {**HEAD, "kind": "AnalysisTemplate", "metadata": {"name": "ask"}}
    by_apprise = {"type": "apprise", "secretRef": {"name": "chat"}}
    provider = {**HEAD, "kind": "AlertProvider", "metadata": {"name": "chat"}, "spec": by_apprise}
    world.publish(
        "Ask a service",
        {
            "analysis/ask.yaml": yaml.safe_dump({**template, "spec": {"args": args, "metrics": [ask]}}),
            "alerts/chat.yaml": yaml.safe_dump(provider),
        },
    )
    header = {
        "name": "Authorization",
        "valueFrom": {"secretKeyRef": {"name": "hooks", "key": "token"}},
    }
    web.strategy |= {
        "autoPromotionEnabled": True,
        "webhooks": [
            {"name": "ask", "type": "pre-rollout", "url": f"{service.url}/hook", "headers": [header]},
            {"name": "tell", "type": "post-rollout", "url": f"{service.url}/hook", "headers": [header]},
        ],
        "prePromotionAnalysis": {"templates": [{"templateName": "ask"}]},
    }
    web.spec["analysis"] = {"alerts": [{"name": "team", "severity": "info", "providerRef": {"name": "chat"}}]}
    web.configure()


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\n"
BROKEN = {
    "broken.yaml": ("a file that is broken", SECRET + "data:\n  x: '{}: [\n"),
    "small.yaml": ("a secret in small letters", SECRET.replace("Secret", "secret") + "data: {{x: !{} y}}\n"),
    "sealed.yaml": (
        "a SealedSecret",
        SECRET.replace("Secret", "SealedSecret") + "spec: {{template: {{data: {{x: *{}}}}}}}\n",
    ),
    "list.yaml": (
        "a list of Secrets",
        "apiVersion: v1\nkind: List\nitems:\n- kind: Secret\n  data: {{x: {{'{}': yes}}}}\n",
    ),
    "wrong.yaml": ("a Secret with a wrong field", SECRET + "immutable: 5\nstringData: {{x: ['{}']}}\n"),
}


def _broken(web: App) -> dict[str, str]:
    return {f"{web.folder}/{name}": text.format(canary(place)) for name, (place, text) in BROKEN.items()}


def test_no_secret_is_in_anything_that_is_said(web: App, heard: Heard, tmp_path: Path) -> None:
    world, remote = web.scenario, web.scenario.remote
    agent = world.agent
    assert agent is not None
    server = WebServer(application(agent), port=0)
    server.start()
    cli = Cli(remote, world.cluster.kubeconfig, tmp_path)

    with serving() as service:
        service.answer = _echo
        _asking_for_secrets(web, service)
        web.push_image("v2")
        web.wait_phase("Held")  # the hook refuses
        web.wait_told("aborted")
        _look(web, heard, cli)

        service.answer = lambda asked: Reply() if asked.path == "/hook" else _echo(asked)
        web.push_image("v3")
        web.wait(lambda: "/metric" in [asked.path for asked in service.asked], "the metric is asked")
        web.wait_condition("OnHold")  # the metric does
        web.wait_told("aborted", 2)
        _look(web, heard, cli)

        service.says({"ok": True})
        web.push_object(PASSWORDS, secret(db=canary("the next stringData in Git")))
        web.push_image("v4")
        web.wait_live("v4")
        web.wait_told("promoted")
        for place in PLACES[4:8]:
            assert any(canary(place) in unquote(f"{each.target} {each.headers}") for each in service.asked), place

    world.publish("Break files", _broken(web))
    web.wait_phase("Invalid")
    _look(web, heard, cli)
    for where, answer in _answers_of(server.url):
        heard.note(where, answer)
    server.stop()
    world.wait_idle()
    _look(web, heard, cli)
    assert all(f"{web.folder}/{name}" in heard.said["check {clone}"] for name in BROKEN)


COMMANDS = (
    ("get",), ("get", "-o", "wide"), ("get", "-o", "json"), ("get", "-o", "yaml"), ("explain", "{app}"),
    ("explain", "{app}", "-o", "json"), ("tree", "{app}"), ("history", "{app}"), ("history", "{app}", "-o", "json"),
    ("diff", "{app}"), ("diff", "{app}", "-o", "json"), ("plan", "{app}"), ("plan", "{app}", "-o", "json"),
    ("plan", "-o", "markdown"), ("check", "{clone}"), ("check", "{clone}", "-o", "sarif"),
    ("check", "{clone}", "-o", "json"), ("check", "{clone}", "-o", "github"),
)  # fmt: skip


def _look(web: App, heard: Heard, cli: Cli) -> None:
    """Note all that there is to be seen now."""
    world, remote = web.scenario, web.scenario.remote
    heard.note("events", world.events())
    for api, kind in (("gitops-bg.dev/v1alpha1", "BlueGreenDeployment"), ("apps/v1", "ReplicaSet"), ("v1", "Service")):
        heard.note(f"{kind}s", world.cluster.list(collection(api, kind, world.namespace)))
    secrets = world.cluster.list(collection("v1", "Secret", world.namespace))
    heard.note("the metadata of Secrets", [each["metadata"] for each in secrets])
    heard.note("messages of commits", remote.run("log", "--all", "--format=%B", cwd=remote.bare))
    for branch in remote.branches():
        if branch.startswith("gitops-bg/state/"):
            heard.note(branch, remote.run("log", "-p", branch, "--", cwd=remote.bare))
    world.pull()
    for command in COMMANDS:
        arguments = [part.format(app=web.key, clone=remote.clone) for part in command]
        heard.note(" ".join(command), _printed_by(cli, arguments))


def _printed_by(cli: Cli, arguments: list[str]) -> str:
    from typer.testing import CliRunner

    from gitops_bg.cli.main import app

    result = CliRunner().invoke(app, arguments, env=cli.env)
    return f"{result.output}{result.exception or ''}"


def _answers_of(url: str) -> Iterator[tuple[str, str]]:
    """What the web server says, also to who guesses: wrongly signed, and without a right."""
    signed = {"X-Hub-Signature-256": "sha256=0", "X-GitHub-Event": "push", "Content-Type": "application/json"}
    group = "/api/v1/groups/shop/web/promote"
    asked: tuple[tuple[str, dict[str, str], bytes | None], ...] = (
        ("/metrics", {}, None), ("/healthz", {}, None), ("/readyz", {}, None), ("/webhook", signed, b"{}"),
        (group, {"Authorization": "Bearer no"}, b"{}"),
        (group, {"Authorization": f"Bearer {canary('the token of the API')}"}, b"{}"),
    )  # fmt: skip
    for path, headers, body in asked:
        with suppress(urllib.error.URLError):
            request = urllib.request.Request(url + path, body, headers)
            try:
                answer = urllib.request.urlopen(request, timeout=10)
            except urllib.error.HTTPError as error:
                answer = error
            yield path, f"{answer.headers}\n{answer.read().decode()}"

"""`open`: where people see an app, in a browser that the environment names, or printed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.cli.commands.inspect.running import _of_ingress, _of_route
from tests.integration.cli.conftest import Cli
from tests.support.cluster.paths import config_maps, path_of
from tests.support.manifests import deployment
from tests.support.scenario import App, Scenario
from tests.support.waiting import HANGS, eventually

SCRIPT = Path(sys.executable).with_name("gitops-bg")


def _program(folder: Path, name: str, text: str) -> Path:
    file = folder / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def _route(kind: str, namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
    version = {"Ingress": "networking.k8s.io/v1", "HTTPRoute": "gateway.networking.k8s.io/v1"}[kind]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "shown", "namespace": namespace}, "spec": spec}


def test_the_preview_is_at_the_host_of_an_ingress_that_leads_to_it(cli: Cli, web: App, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = _program(tmp_path, "browser", f'echo "$1" >{opened}.new && mv {opened}.new {opened}')
    service = {"name": "web-preview", "port": {"number": 80}}
    paths = [{"path": "/shop", "pathType": "Prefix", "backend": {"service": service}}]
    rules = [{"host": "preview.example.com", "http": {"paths": paths}}]
    namespace = web.key.namespace
    web.scenario.cluster.create(
        f"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses",
        _route("Ingress", namespace, {"rules": rules, "tls": [{"hosts": ["preview.example.com"]}]}),
    )
    environment = {**os.environ, **cli.env, "BROWSER": f"{browser} %s"}
    done = subprocess.run(
        [SCRIPT, "open", str(web.key)], env=environment, capture_output=True, text=True, timeout=HANGS
    )
    assert (done.stdout, done.returncode) == ("https://preview.example.com/shop\n", 0), done.stderr
    eventually(opened.exists, what="the browser is open")
    assert opened.read_text() == done.stdout
    opened.unlink()
    assert cli("open", str(web.key), "--print") == done.stdout
    assert cli.json("open", str(web.key)) == {
        "app": str(web.key),
        "what": "preview",
        "address": "https://preview.example.com/shop",
    }


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_without_a_host_kubectl_forwards_a_port_until_somebody_ends_it(
    cli: Cli, web: App, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """kubectl prints a line for each connection: far more than a pipe holds."""
    said, ended = tmp_path / "said", tmp_path / "ended"
    forwarding = "Forwarding from 127.0.0.1:4567 -> 8080"
    _program(
        tmp_path,
        "kubectl",
        f"""echo "$@" >{said}; echo "{forwarding}"
        yes 'Handling connection for 4567' | head -n 10000; yes 'E1201 reset' | head -n 20000 >&2
        trap 'touch {ended}; exit 0' TERM
        touch {said}.all; while :; do sleep 0.1; done""",
    )
    environment = {**os.environ, **cli.env, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    command = [SCRIPT, "open", str(web.key), "--print"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "http://127.0.0.1:4567\n"
            assert said.read_text().endswith(f"-n {web.key.namespace} port-forward service/web-preview :8080\n")
            eventually(Path(f"{said}.all").exists, what="all that kubectl prints is read")
            process.send_signal(number)
            assert process.wait(HANGS) == code
            assert ended.exists(), "kubectl runs no longer"
        finally:
            process.kill()


def test_what_kubectl_complains_of_is_the_error(
    cli: Cli, web: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, "kubectl", 'echo "error: no pods" >&2; exit 1')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert "kubectl forwards no port to web-preview: error: no pods" in cli("open", str(web.key), code=1)
    _program(tmp_path, "kubectl", 'echo "Forwarding from 127.0.0.1:4567 -> 80"; echo "error: lost it" >&2; exit 1')
    lost = cli("open", str(web.key), "--print", code=1)
    assert "kubectl no longer forwards a port to web-preview: error: lost it" in lost
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "kubectl is not here" in cli("open", str(web.key), code=1)


def test_the_dashboard_is_where_the_agent_was_told_that_it_is(cli: Cli, web: App) -> None:
    namespace = web.key.namespace
    assert "--public-url" in cli("open", str(web.key), "--dashboard", "--print", code=1)
    agent = deployment(namespace, "agent", tag="0.1.0")
    agent["metadata"]["labels"] = {"app.kubernetes.io/name": "gitops-bg"}
    agent["spec"]["template"]["spec"]["containers"][0]["args"] = ["agent", "--public-url=https://bg.example.com/"]
    web.scenario.cluster.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", agent)
    shown = cli("open", str(web.key), "--dashboard", "--print")
    assert shown == f"https://bg.example.com/apps/{web.key}\n"


def test_the_dashboard_is_where_the_settings_of_the_agent_say_that_it_is(cli: Cli, web: App) -> None:
    """`install` and the chart give the agent its settings in a ConfigMap."""
    namespace, cluster = web.key.namespace, web.scenario.cluster
    settings = {"GITOPS_BG_PUBLIC_URL": "https://bg.example.com"}
    cluster.create(config_maps(namespace), {"metadata": {"name": "gitops-bg"}, "data": settings})
    agent = deployment(namespace, "agent", tag="0.1.0")
    agent["metadata"]["labels"] = {"app.kubernetes.io/name": "gitops-bg"}
    container = agent["spec"]["template"]["spec"]["containers"][0]
    container["envFrom"] = [{"secretRef": {"name": "other"}}, {"configMapRef": {"name": "gitops-bg"}}]
    cluster.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", agent)
    assert cli("open", str(web.key), "--dashboard", "--print") == f"https://bg.example.com/apps/{web.key}\n"


def _agent(web: App, name: str, *arguments: str) -> None:
    agent = deployment(web.key.namespace, name, tag="0.1.0")
    agent["metadata"]["labels"] = {"app.kubernetes.io/name": "gitops-bg"}
    agent["spec"]["template"]["spec"]["containers"][0]["args"] = ["agent", *arguments]
    web.scenario.cluster.create(f"/apis/apps/v1/namespaces/{web.key.namespace}/deployments", agent)


def test_of_several_dashboards_that_of_the_agent_which_follows_the_app_is_meant(cli: Cli, web: App) -> None:
    _agent(web, "other", "--public-url=https://other.example.com", "--repo", "https://git.example.com/other.git")
    ours = ["--repo", web.scenario.remote.url]
    _agent(web, "ours", "--public-url", "https://bg.example.com", *ours)
    shown = cli("open", str(web.key), "--dashboard", "--print")
    assert shown == f"https://bg.example.com/apps/{web.key}\n"
    _agent(web, "second", "--public-url", "https://second.example.com", *ours)
    several = cli("open", str(web.key), "--dashboard", "--print", code=1)
    assert f"{web.key.namespace}/second (https://second.example.com)" in several
    assert "other.example.com" not in several


@pytest.mark.parametrize("url", ["--help", "file:///etc/passwd", "javascript:alert(1)"])
def test_only_what_a_browser_fetches_is_opened(cli: Cli, web: App, url: str) -> None:
    _agent(web, "ours", f"--public-url={url}")
    assert "does not begin with http:// or https://" in cli("open", str(web.key), "--dashboard", code=1)


def _to(*services: str, **weights: int) -> list[dict[str, Any]]:
    return [{"name": each, "port": 80, **({"weight": weights[each]} if each in weights else {})} for each in services]


_PATH = {"path": {"type": "PathPrefix", "value": "/new"}}
_HEADER = {"headers": [{"name": "x", "value": "y"}]}
_INGRESS_PATHS = [
    {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "shown", "port": {"number": 80}}}}
]


@pytest.mark.parametrize(
    ("rule", "addresses"),
    [
        ({"backendRefs": _to("shown")}, ["http://a.example.com/"]),
        ({"backendRefs": _to("shown", "live")}, []),
        ({"backendRefs": _to("shown", "live", live=0)}, ["http://a.example.com/"]),
        ({"backendRefs": _to("shown", shown=0)}, []),
        ({"backendRefs": _to("shown"), "matches": [_HEADER]}, []),
        ({"backendRefs": _to("shown"), "matches": [_HEADER, _PATH]}, ["http://a.example.com/new"]),
    ],
)
def test_a_rule_that_leads_elsewhere_as_well_is_no_preview(rule: dict[str, Any], addresses: list[str]) -> None:
    route = _route("HTTPRoute", "shop", {"hostnames": ["*.example.com", "a.example.com"], "rules": [rule]})
    assert [*_of_route(route, "shown")] == addresses


def test_no_wildcard_and_no_canary_is_a_preview() -> None:
    rules = [{"host": host, "http": {"paths": _INGRESS_PATHS}} for host in ("*.example.com", "a.example.com")]
    ingress = _route("Ingress", "shop", {"rules": rules})
    assert [*_of_ingress(ingress, "shown")] == ["http://a.example.com/"]
    ingress["metadata"]["annotations"] = {"nginx.ingress.kubernetes.io/canary": "true"}
    assert [*_of_ingress(ingress, "shown")] == []


def test_the_pull_request_is_that_of_the_status(cli: Cli, world: Scenario) -> None:
    """No agent runs: the status is as one left it."""
    strategy = {"blueGreen": {"activeService": "web", "previewService": "web-preview"}}
    body = {
        "apiVersion": "gitops-bg.dev/v1alpha1",
        "kind": "BlueGreenDeployment",
        "metadata": {"namespace": world.namespace, "name": "web"},
        "spec": {"target": "target.yaml", "strategy": strategy},
    }
    world.cluster.apply(body)
    name = f"{world.namespace}/web"
    assert "has no pull request" in cli("open", name, "--pull-request", code=1)
    assert "give one of" in cli("open", name, "--pull-request", "--preview", code=2)
    page = "https://forge.example.com/shop/config/pulls/7"
    world.cluster.patch(f"{path_of(body)}/status", {"status": {"pullRequest": {"number": 7, "url": page}}})
    assert cli("open", name, "--pull-request", "--print") == f"{page}\n"

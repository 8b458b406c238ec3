"""A real implementation of the Gateway API in front of a real control plane: Traefik 3.0, with pods that really answer.

All of it runs in a network of its own (see `network`): etcd, API server, Traefik, pods, and the test itself. Traefik
writes the status of Gateways, and none of HTTPRoutes. docs/features/groups.md has what it does not take of ours.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3
import yaml

from tests.support.agent.leash import leashed
from tests.support.cluster import control_plane
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.gateway_api import GATEWAY_CLASS, install_gateway_api
from tests.support.cluster.pod_servers import PodServers
from tests.support.network import private_network, why_no_private_network
from tests.support.waiting import eventually

HOW_TO_GET_IT = (
    "GITOPS_BG_TRAEFIK is not set or lacks bin/traefik; with Go, "
    "GITOPS_BG_TRAEFIK=$(tests/support/traefik/build.sh) makes it"
)
POD_ADDRESSES = "10.64.0.0/10"  # those that the stand-in for the kubelet gives
_WEB, _PING = 80, 8081  # the port of the Gateways of tests, and of Traefik's own health


def traefik_at_hand() -> Path | None:
    """The program, if the machine has it."""
    folder = os.environ.get("GITOPS_BG_TRAEFIK")
    program = Path(folder or "") / "bin" / "traefik"
    return program if folder and os.access(program, os.X_OK) else None


def why_not() -> str:
    """Why no Gateway of Traefik's can be had here; empty where one can."""
    if control_plane.assets() is None:
        return control_plane.HOW_TO_GET_THEM
    if traefik_at_hand() is None:
        return HOW_TO_GET_IT
    return why_no_private_network()


class Traefik:
    """One process, which follows one API server."""

    def __init__(self, program: Path, kubeconfig: Path, folder: Path) -> None:
        self.log = folder / "traefik.log"
        self._command = [str(program), *_options(kubeconfig)]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens; which routes it knows then nobody can tell."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                leashed(self._command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=os.environ | control_plane.LESS_COLLECTING,
            )
        eventually(self._is_up, what="Traefik listens")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it, by default as its users would, which lets it finish the requests it has."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _is_up(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise RuntimeError(f"Traefik ended with {self._process.returncode}: {self.log.read_text()[-2000:]}")
        with urllib3.PoolManager(retries=False) as pool:
            try:
                return pool.request("GET", f"http://127.0.0.1:{_PING}/ping", timeout=2).status == 200
            except urllib3.exceptions.HTTPError:
                return False


class TraefikCluster(ControlPlaneCluster):
    """A control plane with Traefik in front, as a class of Gateways."""

    name = "traefik"
    gateway_lags = True
    """It reads routes in its own time, and reports in no status that it has: what the agent says may be ahead of it."""
    traefik: Traefik

    @classmethod
    @contextmanager
    def serving(cls, folder: Path) -> Iterator[TraefikCluster]:
        """Start all of it (about seven seconds), and stop it at the end; skips the test where it cannot be had."""
        program, binaries, reason = traefik_at_hand(), control_plane.assets(), why_not()
        if reason or program is None or binaries is None:
            pytest.skip(reason)
        with private_network(POD_ADDRESSES), cls.run(binaries, folder, PodServers()) as cluster:
            install_gateway_api(cluster)
            cluster.apply(_GATEWAY_CLASS)
            cluster.traefik = Traefik(program, cluster.kubeconfig, folder)
            try:
                cluster.traefik.start()
                yield cluster
            finally:
                cluster.traefik.stop(signal.SIGKILL)

    def gateway_url(self, namespace: str, name: str) -> str:
        """Where people reach a Gateway: all of them have the same port."""
        return f"http://127.0.0.1:{_WEB}"


_GATEWAY_CLASS = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "GatewayClass",
    "metadata": {"name": GATEWAY_CLASS},
    "spec": {"controllerName": "traefik.io/gateway-controller"},
}


def _options(kubeconfig: Path) -> Iterator[str]:
    """Its command line; the throttle would hide how fast the agent is."""
    content = yaml.safe_load(kubeconfig.read_text())
    server, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    gateway = "--providers.kubernetesgateway"
    yield from ("--global.checknewversion=false", "--global.sendanonymoususage=false", "--log.level=INFO")
    yield from (f"--entrypoints.web.address=:{_WEB}", f"--entrypoints.health.address=127.0.0.1:{_PING}")
    yield from ("--ping=true", "--ping.entrypoint=health", "--providers.providersthrottleduration=50ms")
    yield from ("--experimental.kubernetesgateway=true", f"{gateway}=true", f"{gateway}.endpoint={server['server']}")
    yield from (f"{gateway}.token={user['token']}", f"{gateway}.certauthfilepath={server['certificate-authority']}")

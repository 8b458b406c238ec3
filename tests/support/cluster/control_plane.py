"""A real etcd, kube-apiserver and kube-controller-manager for a test run.

Binaries come from KUBEBUILDER_ASSETS, as for controller-runtime's envtest. RBAC is on; the ServiceAccount
admission plugin is off, so that pods need no token secret. No kubelet and no scheduler: see `kubelet`. Every
process dies with the test run (see `leash`), every file lies in the given folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import urllib3

from tests.support.agent.leash import leashed
from tests.support.cluster.pki import Authority, private_key
from tests.support.cluster.rawapi import ApiError, RawApi
from tests.support.waiting import eventually

BINARIES = ("etcd", "kube-apiserver", "kube-controller-manager")
HOW_TO_GET_THEM = (
    "KUBEBUILDER_ASSETS is not set or lacks a binary; point it to a folder with etcd, kube-apiserver and "
    "kube-controller-manager (for example: KUBEBUILDER_ASSETS=$(setup-envtest use -p path), plus a "
    "kube-controller-manager of the same release beside them)"
)

# The controllers that blue-green deployments lean on; each one more costs start-up time and memory.
_CONTROLLERS = (
    "replicaset",
    "deployment",
    "daemonset",
    "job",
    "ttl-after-finished",
    "endpoint",
    "endpointslice",
    "garbagecollector",
    "disruption",
    "horizontalpodautoscaling",
    "namespace",
)
LESS_COLLECTING = {"GOGC": "400"}
"""For programs in Go. A tenth of what a story costs was the collector's; there is memory enough."""
_TRIES = 3
"""How often a control plane is started on other ports, where one of them was taken meanwhile."""
_FEATURES = "--feature-gates=TTLAfterFinished=true"
"""Jobs that delete themselves: off before 1.21, and no gate any more since 1.24."""

# What people and the agent wrote, for `writes`, and all that ServiceAccounts asked for, for `refusals` and `requests`;
# reads of others and the cluster's own machinery are left out.
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "None", "users": ["controller-manager", "kubelet", "system:apiserver"]},
        {"level": "Metadata"},
    ],
}


def assets() -> Path | None:
    """The folder with the binaries, if the machine has them all."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder or not all(os.access(Path(folder) / name, os.X_OK) for name in BINARIES):
        return None
    return Path(folder)


class PortTakenError(RuntimeError):
    """Somebody took a port between the look for a free one and its use: any connection that goes out may."""


@cache
def release(binaries: Path) -> tuple[int, int]:
    """The release of Kubernetes that a folder has, such as (1, 37)."""
    command = [str(binaries / "kube-apiserver"), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    major, minor = said.partition(" v")[2].split(".")[:2]
    return int(major), int(minor)


class ControlPlane:
    """One control plane on free ports of the loopback, its files in `folder`. Use as a context manager."""

    def __init__(
        self, binaries: Path, folder: Path, *, with_gates: bool = True, beside: ControlPlane | None = None
    ) -> None:
        """``beside``: another one, whose etcd has this one's objects as well, under a prefix of their own."""
        self._binaries = binaries
        self._beside = beside
        self._gates = [_FEATURES] if with_gates and release(binaries) < (1, 21) else []
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._token = secrets.token_hex(16)
        self._authority = Authority(folder / "pki")
        self._signing_key = folder / "service-accounts.key"
        """That of tokens, which outlive a restart of the API server."""
        self._ports: list[int] = []
        self.url = ""
        self.kubeconfig = folder / "admin.kubeconfig"
        self.audit_log = folder / "audit.log"

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def user(self, name: str, groups: tuple[str, ...] = ()) -> Path:
        """A kubeconfig for a person: who it is stands in a client certificate. Has no rights of its own."""
        certificate, key = self._authority.client(name, groups)
        return self._write_kubeconfig(name, {"client-certificate": str(certificate), "client-key": str(key)})

    def service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig for a ServiceAccount, which is made if need be. Has no rights of its own."""
        api = RawApi(self.kubeconfig)
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        try:
            with contextlib.suppress(ApiError):
                api.create(accounts, {"metadata": {"name": name}})
            answer = api.create(
                f"{accounts}/{name}/token",
                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}},
            )
        finally:
            api.close()
        return self._write_kubeconfig(f"{namespace}.{name}", {"token": answer["status"]["token"]})

    @property
    def _is_old(self) -> bool:
        return release(self._binaries) < (1, 21)

    @property
    def etcd(self) -> str:
        """The address of the etcd that has its objects."""
        return self._beside.etcd if self._beside is not None else f"http://127.0.0.1:{self._ports[0]}"

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of its processes."""
        return tuple(process.pid for process in self._processes)

    def stop(self) -> None:
        """End all processes, in the reverse order of their start; they have nothing worth saving."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._processes.clear()

    def backup(self, to: Path) -> None:
        """Copy what etcd has on its disk, as a crash at this moment would leave it."""
        etcd = self._processes[0]
        etcd.send_signal(signal.SIGSTOP)
        try:
            shutil.copytree(self._folder / "etcd", to)
        finally:
            etcd.send_signal(signal.SIGCONT)

    def restore(self, backup: Path) -> None:
        """What an administrator does after a disaster: stop all, put the backup in place, start all."""
        self.stop()
        shutil.rmtree(self._folder / "etcd")
        shutil.copytree(backup, self._folder / "etcd")
        self._run_all()

    def _start(self) -> None:
        private_key(self._signing_key)
        for _ in range(_TRIES - 1):
            with contextlib.suppress(PortTakenError):
                return self._start_on(free_ports(3))
            self.stop()
            shutil.rmtree(self._folder / "etcd", ignore_errors=True)
        return self._start_on(free_ports(3))

    def _start_on(self, ports: list[int]) -> None:
        self._ports = ports
        self.url = f"https://127.0.0.1:{ports[2]}"
        self._write_kubeconfig("admin", {"token": self._token})
        self._run_all()

    def _run_all(self) -> None:
        _, etcd_peer, api_port = self._ports
        if self._beside is None:
            self._run_etcd(self.etcd, f"http://127.0.0.1:{etcd_peer}")
        self._run_apiserver(self.etcd, api_port)
        eventually(self._is_ready, what="the API server is ready")
        self._run_controller_manager()

    def _run_etcd(self, client: str, peer: str) -> None:
        self._run(
            "etcd",
            f"--data-dir={self._folder / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        )

    def _run_apiserver(self, etcd: str, port: int) -> None:
        certificate, key = self._authority.server("kube-apiserver", "127.0.0.1")
        tokens = self._folder / "tokens.csv"
        tokens.write_text(f'{self._token},admin,admin,"system:masters"\n')
        policy = self._folder / "audit.json"
        policy.write_text(json.dumps(_AUDIT_POLICY))
        self._run(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            f"--etcd-prefix=/{self._folder.name if self._beside is not None else 'registry'}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            "--advertise-address=192.0.2.1",  # required, never used: no reconciler
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--cert-dir={self._folder / 'certs'}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={self._authority.certificate}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._signing_key}",
            f"--service-account-signing-key-file={self._signing_key}",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self.audit_log}",
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=0",
            "--max-mutating-requests-inflight=0",
            *self._gates,
        )

    def _run_controller_manager(self) -> None:
        certificate, key = self._authority.client("controller-manager", ("system:masters",))
        kubeconfig = self._write_kubeconfig(
            "controller-manager", {"client-certificate": str(certificate), "client-key": str(key)}
        )
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={kubeconfig}",
            f"--controllers={','.join(_CONTROLLERS)}",
            *(["--port=0"] if self._is_old else []),  # the port without TLS, which went with 1.24
            "--secure-port=0",
            "--leader-elect=false",
            "--kube-api-qps=2000",
            "--kube-api-burst=4000",
            "--concurrent-replicaset-syncs=20",
            "--concurrent-service-endpoint-syncs=20",
            "--horizontal-pod-autoscaler-sync-period=1s",
            *self._gates,
        )

    def _run(self, name: str, *options: str) -> None:
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                leashed([str(self._binaries / name), *options]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=os.environ | LESS_COLLECTING,
            )
        self._processes.append(process)

    def _is_ready(self) -> bool:
        for process in self._processes:
            if process.poll() is not None:
                said = f"{process.args!r} ended with {process.returncode}; logs in {self._folder}"
                raise PortTakenError(said) if self._met_a_taken_port() else RuntimeError(said)
        headers = {"Authorization": f"Bearer {self._token}"}
        with urllib3.PoolManager(ca_certs=str(self._authority.certificate), retries=False) as pool:
            try:
                return pool.request("GET", f"{self.url}/readyz", headers=headers, timeout=2).status == 200
            except urllib3.exceptions.HTTPError:
                return False

    def _met_a_taken_port(self) -> bool:
        logs = (self._folder / f"{name}.log" for name in BINARIES)
        return any(b"address already in use" in log.read_bytes() for log in logs if log.exists())

    def _write_kubeconfig(self, name: str, user: dict[str, str]) -> Path:
        path = self._folder / f"{name.replace(':', '-')}.kubeconfig"
        cluster = {"server": self.url, "certificate-authority": str(self._authority.certificate)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
        }
        path.touch(mode=0o600)
        path.write_text(json.dumps(content))
        return path


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens on right now, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]

"""The agent that helm installed, run as a kubelet would run it: its image out of the registry, with the arguments,
settings and files that its Deployment asks for, and the token of its ServiceAccount.
"""

from __future__ import annotations

import base64
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path

import yaml

from tests.support.agent.leash import leashed
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.rawapi import Json
from tests.support.waiting import eventually

_ACCOUNT = Path("var/run/secrets/kubernetes.io/serviceaccount")
_CREDENTIALS = Path("etc/gitops-bg/git")
_AUTHORITIES = Path("etc/ssl/certs/ca-certificates.crt")


class InstalledAgent:
    """The one pod of the Deployment `gitops-bg` of a namespace."""

    def __init__(
        self, cluster: ControlPlaneCluster, namespace: str, crane: Path, folder: Path, trusted: str = ""
    ) -> None:
        """``trusted`` are certificates (PEM) that its image is to know as it knows those of the public authorities."""
        self._cluster = cluster
        self._namespace = namespace
        self._crane = crane
        self._folder = folder
        self._trusted = trusted
        folder.mkdir()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        """What every agent so far has said."""
        path = self._folder / "agent.log"
        return path.read_text(errors="replace") if path.is_file() else ""

    def restart(self) -> str:
        """End the agent, and run what the Deployment says now; returns its image."""
        self.stop()
        container = self._deployment()["spec"]["template"]["spec"]["containers"][0]
        root = self._unpacked(container["image"])
        env = {each["name"]: each["value"] for each in container["env"]}
        env |= self._object("configmaps", "gitops-bg")["data"] | self._in_cluster(root)
        self._mount_credentials(root)
        # Nobody runs these containers but we: its ports are free at another address than the pod's.
        arguments = [each.replace("0.0.0.0", "127.0.0.9") for each in container["args"]]
        mounts = f"mount --rbind /dev {root}/dev && mount -t proc proc {root}/proc && exec chroot {root} "
        inside = ["/usr/bin/tini", "--", "/usr/local/bin/gitops-bg", *arguments]
        command = [shutil.which("unshare") or "", "--mount", "sh", "-c", f'{mounts} "$@"', "sh", *inside]
        path = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        before = len(self.log)
        with (self._folder / "agent.log").open("ab") as output:
            self._process = subprocess.Popen(leashed(command), stdout=output, stderr=output, env=path | env)
        eventually(lambda: self._leads(before), what="the agent leads")
        return str(container["image"])

    def stop(self) -> None:
        """SIGTERM, as Kubernetes ends a pod; it has the seconds that its Deployment gives it."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        seconds = self._deployment()["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        assert process.wait(timeout=seconds) in (0, 128 + signal.SIGTERM, -signal.SIGTERM), self.log[-2000:]

    def _leads(self, after: int) -> bool:
        """Whether it took its lease; it did not end instead."""
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(self.log[after:])
        return "took the lease" in self.log[after:]

    def _unpacked(self, image: str) -> Path:
        """The files of an image, from its registry."""
        root = self._folder / image.rpartition(":")[2]
        if not root.is_dir():
            archive = self._folder / "image.tar"
            platform = ["--platform", "linux/amd64"]
            subprocess.run([self._crane, "export", "--insecure", *platform, image, archive], check=True)
            with tarfile.open(archive) as opened:
                opened.extractall(root, filter="fully_trusted")
            archive.unlink()
            with (root / _AUTHORITIES).open("a") as known:
                known.write(self._trusted)
        return root

    def _in_cluster(self, root: Path) -> dict[str, str]:
        """What every pod gets to talk to the API server."""
        path = f"/api/v1/namespaces/{self._namespace}/serviceaccounts/gitops-bg/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
        answer = self._cluster.create(path, asked)
        (root / _ACCOUNT).mkdir(parents=True, exist_ok=True)
        (root / _ACCOUNT / "token").write_text(answer["status"]["token"])
        (root / _ACCOUNT / "namespace").write_text(self._namespace)
        (known,) = yaml.safe_load(self._cluster.kubeconfig.read_text())["clusters"]
        shutil.copy(known["cluster"]["certificate-authority"], root / _ACCOUNT / "ca.crt")
        host, _, port = known["cluster"]["server"].removeprefix("https://").rpartition(":")
        return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}

    def _mount_credentials(self, root: Path) -> None:
        (root / _CREDENTIALS).mkdir(parents=True, exist_ok=True)
        for name, content in self._object("secrets", "gitops-bg-git")["data"].items():
            (root / _CREDENTIALS / name).write_bytes(base64.b64decode(content))

    def _deployment(self) -> Json:
        return self._cluster.get(f"/apis/apps/v1/namespaces/{self._namespace}/deployments/gitops-bg")

    def _object(self, kind: str, name: str) -> Json:
        return self._cluster.get(f"/api/v1/namespaces/{self._namespace}/{kind}/{name}")

"""Keys and certificates for a control plane that lives as long as a test run; made by the openssl command."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.waiting import HANGS


class Authority:
    """A certificate authority in a folder; `server` and `client` sign with it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.certificate = folder / "ca.crt"
        self._key = private_key(folder / "ca.key")
        _openssl(
            *("req", "-x509", "-new", "-key", self._key, "-subj", "/CN=test-ca", "-days", "2"),
            *("-addext", "keyUsage=critical,keyCertSign,cRLSign", "-out", self.certificate),
        )

    def server(self, name: str, address: str, *, days: int = 2) -> tuple[Path, Path]:
        """Certificate and key of a server at an IP address; with negative ``days``, one that is no longer valid."""
        extension = f"subjectAltName=IP:{address},DNS:localhost\nextendedKeyUsage=serverAuth\n"
        return self._sign(name, f"/CN={name}", extension, days)

    def client(self, user: str, groups: tuple[str, ...] = ()) -> tuple[Path, Path]:
        """Certificate and key that make the bearer this user of these groups, in Kubernetes' reading."""
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={user}"
        return self._sign(user.replace(":", "-"), subject, "extendedKeyUsage=clientAuth\n")

    def _sign(self, name: str, subject: str, extension: str, days: int = 2) -> tuple[Path, Path]:
        base = self._folder / name
        key, request, certificate = (base.with_name(f"{name}.{end}") for end in ("key", "csr", "crt"))
        extensions = base.with_name(f"{name}.ext")
        extensions.write_text(extension)
        private_key(key)
        _openssl("req", "-new", "-key", key, "-subj", subject, "-out", request)
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key),
            *("-CAcreateserial", "-days", str(days), "-extfile", extensions, "-out", certificate),
        )
        return certificate, key


def private_key(path: Path) -> Path:
    """A new P-256 key, in a form that Kubernetes 1.20 reads."""
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)
    return path


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=HANGS)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr}")

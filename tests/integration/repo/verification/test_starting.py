"""What an agent with broken keys, or without a key of its own that counts, says before it begins."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gitops_bg.core.errors import InvalidInput
from tests.integration.repo.verification.conftest import Signed

FORM = "(write NAME ssh-ed25519 KEY, as in ssh-keygen(1))"


def refusal(signed: Signed, **settings: object) -> str:
    with pytest.raises(InvalidInput) as error:
        signed.open(**settings)  # type: ignore[arg-type]
    signed.open("unverified", verification=None).close()
    return str(error.value).replace(str(signed.folder), "")


def test_a_file_without_keys(signed: Signed) -> None:
    signed.write("# nobody yet\n", "\n")
    assert refusal(signed) == f"--verify-signers /allowed_signers: lists no key {FORM}"


LINES = {
    "no line of a signer": ("hello\n", "is no line of a signer"),
    "a key alone": ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL\n", "is no line of a signer"),
    "half a key": ("mallory ssh-ed25519 AAAA\n", "has a key that is not whole"),
    "no base64": ("mallory ssh-ed25519 AAA=A\n", "is no line of a signer"),
    "an authority": (
        "* cert-authority ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL\n",
        "is an authority for certificates: list the keys themselves",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_is_wrong_is_named(signed: Signed, name: str) -> None:
    line, wrong = LINES[name]
    signed.write(signed.agent.line("agent", 'namespaces="git"'), "\n", line)
    assert refusal(signed) == f"--verify-signers /allowed_signers:3: {wrong} {FORM}"


def test_a_file_that_is_not_there_or_no_file(signed: Signed) -> None:
    signed.file.unlink()
    remedy = "(give a file with the public keys)"
    assert refusal(signed) == f"--verify-signers /allowed_signers: cannot be read: No such file or directory {remedy}"
    signed.file.mkdir()
    assert refusal(signed) == f"--verify-signers /allowed_signers: is no file {remedy}"
    signed.file.rmdir()
    os.mkfifo(signed.file)
    assert refusal(signed) == f"--verify-signers /allowed_signers: is no file {remedy}"


def test_a_file_that_is_too_large(signed: Signed) -> None:
    signed.write("#" * 300_000)
    assert "is larger than 256 KiB" in refusal(signed)


def test_a_machine_without_ssh_keygen(signed: Signed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert refusal(signed) == "--verify-signers: ssh-keygen is not on this machine (install OpenSSH)"


def test_no_key_of_its_own(signed: Signed) -> None:
    assert refusal(signed, signing_key=None).startswith("--signing-key: is needed: the agent's own commits on main")


def test_a_key_of_its_own_that_nobody_listed(signed: Signed) -> None:
    signed.write(signed.ada.line("ada"))
    assert refusal(signed) == (
        "--signing-key: /agent signs commits that are not verified: UnknownKey "
        f"(add this line to /allowed_signers: gitops-bg {' '.join(signed.agent.public.split()[:2])})"
    )


@pytest.mark.parametrize("options", ['valid-before="20200101Z"', 'namespaces="file"'])
def test_a_key_of_its_own_that_does_not_count(signed: Signed, options: str) -> None:
    signed.write(signed.agent.line("agent", options))
    assert "signs commits that are not verified: " in refusal(signed)


def test_a_key_of_its_own_that_cannot_sign(signed: Signed, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("no key\n")
    broken.chmod(0o600)
    assert "broken cannot sign: " in refusal(signed, signing_key=broken)

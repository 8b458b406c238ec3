"""The keys of main, from the options of `agent` and `install` to the agent's settings, and to its Secret."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from gitops_bg.cli.commands.agent import AgentOptions, _settings
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.main import app
from gitops_bg.cli.options.options import ClusterOptions, GitOptions, VerifyOptions
from gitops_bg.cli.session.connect import installed_credentials, installed_settings
from gitops_bg.repo.settings import VerificationSettings

URL = "https://git.example.com/shop/config.git"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    made = {name: tmp_path / name for name in ("token", "signing-key", "allowed_signers", "keys.asc")}
    for name, file in made.items():
        file.write_text(f"the {name}")
    return made


def git(files: dict[str, Path], *, signs: bool = True) -> GitOptions:
    key = files["signing-key"] if signs else None
    return GitOptions(repo=URL, cluster="prod", git_token_file=files["token"], signing_key=key)


def both(files: dict[str, Path]) -> VerifyOptions:
    return VerifyOptions(verify_signers=files["allowed_signers"], verify_gpg_keys=files["keys.asc"])


def test_the_agent_gets_the_files_of_its_options(files: dict[str, Path]) -> None:
    made = _settings(git(files), both(files), ClusterOptions(), AgentOptions())
    assert made.repository.signing_key == files["signing-key"]
    assert made.repository.verification == VerificationSettings(
        signers_file=files["allowed_signers"], gpg_keys_file=files["keys.asc"]
    )


def test_without_them_nothing_is_verified(files: dict[str, Path]) -> None:
    made = _settings(git(files, signs=False), VerifyOptions(), ClusterOptions(), AgentOptions())
    assert made.repository.verification is None


def test_the_agents_own_commits_have_to_be_verified_too(files: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="--signing-key: give an SSH key"):
        _settings(git(files, signs=False), both(files), ClusterOptions(), AgentOptions())
    alone = VerifyOptions(verify_gpg_keys=files["keys.asc"])
    with pytest.raises(UsageError, match="--verify-signers: beside --verify-gpg-keys"):
        _settings(git(files), alone, ClusterOptions(), AgentOptions())
    with pytest.raises(UsageError, match="--verify-signers: beside --verify-gpg-keys"):
        installed_settings(git(files), alone)


def test_an_agent_in_a_cluster_gets_them_as_files_of_its_secret(files: dict[str, Path]) -> None:
    folder = "/etc/gitops-bg/git"
    assert installed_settings(git(files), both(files)) == {
        "GITOPS_BG_REPO": URL,
        "GITOPS_BG_CLUSTER": "prod",
        "GITOPS_BG_GIT_TOKEN_FILE": f"{folder}/token",
        "GITOPS_BG_SIGNING_KEY": f"{folder}/signing-key",
        "GITOPS_BG_VERIFY_SIGNERS": f"{folder}/allowed_signers",
        "GITOPS_BG_VERIFY_GPG_KEYS": f"{folder}/gpg-keys.asc",
    }
    assert installed_credentials(git(files), both(files)) == {
        "token": b"the token",
        "signing-key": b"the signing-key",
        "allowed_signers": b"the allowed_signers",
        "gpg-keys.asc": b"the keys.asc",
    }


def test_the_installation_of_the_docs(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files["token"].parent)
    command = [
        "install", "--repo", URL, "--cluster", "prod-eu", "--git-token-file", "token", "--watch-namespace", "shop",
        "--signing-key", "signing-key", "--verify-signers", "allowed_signers",
    ]  # fmt: skip
    done = CliRunner().invoke(app, [*command, "--export"])
    assert done.exit_code == 0, done.output
    settings = next(each for each in yaml.safe_load_all(done.stdout) if each["kind"] == "ConfigMap")["data"]
    assert settings["GITOPS_BG_VERIFY_SIGNERS"] == "/etc/gitops-bg/git/allowed_signers"
    assert "--from-file=allowed_signers=…" in done.stderr

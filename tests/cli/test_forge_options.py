"""Who asks the forge, from the options of `agent`."""

from pathlib import Path

import pytest

from gitops_bg.agent.settings import ForgeAccess
from gitops_bg.cli.commands.agent import AgentOptions, _forge
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import GitOptions

HTTPS, SSH = "https://git.example.com/shop/config.git", "git@git.example.com:shop/config.git"


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("t0ken-of-git")
    return file


def test_the_token_for_git_is_taken_over_https_and_not_over_ssh(token: Path) -> None:
    assert _forge(GitOptions(repo=HTTPS, git_token_file=token), AgentOptions()).token_file == token
    assert _forge(GitOptions(repo=SSH, git_token_file=token), AgentOptions()) == ForgeAccess()


def test_a_token_of_its_own_comes_first(token: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("t0ken-of-the-forge")
    options = AgentOptions(forge_token_file=own)
    assert _forge(GitOptions(repo=HTTPS, git_token_file=token), options).token_file == own


WRONG = {
    "an App without its key": {"github_app_id": "7"},
    "a key without its App": {"github_app_key_file": Path("key")},
    "a token that is not there": {"forge_token_file": Path("/nowhere/token")},
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_is_refused_by_the_name_of_the_option(given: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"--(github-app|forge-token)"):
        _forge(GitOptions(repo=HTTPS), AgentOptions(**given))  # type: ignore[arg-type]


def test_an_app_and_a_token_are_one_too_many(token: Path) -> None:
    options = AgentOptions(forge_token_file=token, github_app_id="7", github_app_key_file=token)
    with pytest.raises(UsageError, match="one of the two"):
        _forge(GitOptions(repo=HTTPS), options)

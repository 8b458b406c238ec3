"""Outside of a clone, live apps say where the repository is; a token goes only where the user says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import GitOptions
from gitops_bg.cli.session.published_repository import located
from gitops_bg.cluster.api.client import Client
from gitops_bg.core import names
from gitops_bg.core.errors import Transient


class Apps:
    """A cluster with apps that follow these repositories; None: an app of an older release."""

    def __init__(self, *followed: str | None) -> None:
        self._followed = followed

    def list(self, *_: object) -> list[dict[str, Any]]:
        if not self._followed:
            raise Transient("it does not answer")
        said = ({names.REPOSITORY: each, names.CLUSTER: "prod"} if each else None for each in self._followed)
        return [{"metadata": {"annotations": each}} for each in said]


def asked(apps: Apps, git: GitOptions | None = None) -> GitOptions:
    return located(git or GitOptions(), lambda: cast("Client", apps), "")


@pytest.fixture(autouse=True)
def _outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)


SHOP = "git.example.com/shop/config"


def test_the_apps_say_where_it_is_and_which_ledger_is_theirs() -> None:
    found = asked(Apps(SHOP, None, SHOP))
    assert (found.repo, found.cluster) == ("https://git.example.com/shop/config.git", "prod")


def test_what_the_user_says_goes_first() -> None:
    assert asked(Apps(SHOP), GitOptions(repo="/mine")) == GitOptions(repo="/mine")
    assert asked(Apps(SHOP), GitOptions(cluster="test")).cluster == "test"
    assert asked(Apps(SHOP), GitOptions(ssh_key_file=Path("key"))).repo == "ssh://git@git.example.com/shop/config.git"


def test_a_token_is_not_sent_to_what_an_app_names() -> None:
    with pytest.raises(UsageError, match="your token goes only where you say: --repo https"):
        asked(Apps(SHOP), GitOptions(git_token_file=Path("token")))


def test_several_repositories_are_listed() -> None:
    with pytest.raises(UsageError, match=r"follow git.example.com/a \(cluster prod\), git.example.com/b"):
        asked(Apps("git.example.com/b", "git.example.com/a"))


@pytest.mark.parametrize("apps", [Apps(), Apps(None)], ids=["it does not answer", "no app names one"])
def test_where_the_cluster_does_not_know_nothing_is_assumed(apps: Apps) -> None:
    assert asked(apps) == GitOptions()

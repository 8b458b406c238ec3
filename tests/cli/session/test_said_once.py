"""`.gitops-bg.yaml`: what a file says once, by kube context; options go before it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitops_bg.cli.options.options import ClusterOptions, GitOptions
from gitops_bg.cli.session.location import user_file, with_file_defaults
from gitops_bg.core.errors import InvalidInput

HEAD = "apiVersion: gitops-bg.dev/v1alpha1\nkind: ClientSettings\n"
OF_TWO = HEAD + "default: {branch: main}\ncontexts:\n  late: {branch: staging, cluster: staging}\n"
PROD = ClusterOptions(context="prod")
LATE = ClusterOptions(context="late")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "clone"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    monkeypatch.chdir(folder)
    return folder


def of_the_user(text: str) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(HEAD + text)


def test_the_file_of_a_repository_says_branch_and_cluster_by_context(clone: Path) -> None:
    assert with_file_defaults(GitOptions(), LATE) == GitOptions()
    (clone / ".gitops-bg.yaml").write_text(OF_TWO)
    assert with_file_defaults(GitOptions(), LATE) == GitOptions(branch="staging", cluster="staging")
    assert with_file_defaults(GitOptions(), PROD) == GitOptions(branch="main")
    assert with_file_defaults(GitOptions(branch="mine"), LATE) == GitOptions(branch="mine", cluster="staging")


def test_the_context_is_that_of_the_kubeconfig(clone: Path, tmp_path: Path) -> None:
    (clone / ".gitops-bg.yaml").write_text(OF_TWO)
    (tmp_path / "kubeconfig").write_text("current-context: late\n")
    assert with_file_defaults(GitOptions(), ClusterOptions(kubeconfig=tmp_path / "kubeconfig")).branch == "staging"
    assert with_file_defaults(GitOptions(), ClusterOptions(kubeconfig=tmp_path / "gone")).branch == "main"


def test_the_file_of_the_user_goes_first_and_says_how_to_get_there(clone: Path, tmp_path: Path) -> None:
    (clone / ".gitops-bg.yaml").write_text(OF_TWO)
    of_the_user("contexts:\n  late: {repo: 'https://git.example.com/c.git', cluster: mine, gitTokenFile: ~/token}\n")
    found = with_file_defaults(GitOptions(), LATE)
    assert found == GitOptions(
        repo="https://git.example.com/c.git",
        branch="staging",
        cluster="mine",
        git_token_file=Path.home() / "token",
    )
    assert with_file_defaults(GitOptions(), PROD).git_token_file is None


def test_no_repository_says_where_a_token_goes(clone: Path) -> None:
    (clone / ".gitops-bg.yaml").write_text(HEAD + "default:\n  branch: main\n  gitTokenFile: ~/token\n")
    with pytest.raises(InvalidInput) as refused:
        with_file_defaults(GitOptions(), PROD)
    (problem,) = refused.value.problems
    assert (problem.line, "which others write" in problem.message) == (5, True)
    assert "~/.config/gitops-bg/.gitops-bg.yaml" in problem.remedy


def test_a_mistake_is_named_with_its_place(clone: Path) -> None:
    of_the_user("contexts:\n  late: {brunch: staging}\n")
    with pytest.raises(InvalidInput, match="brunch") as refused:
        with_file_defaults(GitOptions(), LATE)
    assert refused.value.problems[0].file == str(user_file())


def test_outside_of_a_clone_the_file_of_the_user_counts(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    of_the_user("default: {branch: next}\n")
    assert with_file_defaults(GitOptions(), None).branch == "next"

"""Every error is one clean message with its place and remedy, and an exit code that says what kind it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gitops_bg.cli import errors, main
from gitops_bg.cli.options.values import seconds
from gitops_bg.cli.output import clean
from gitops_bg.cli.registry import VERBS
from gitops_bg.cli.repository.user_git import author, repository_url
from gitops_bg.core.errors import GitopsBgError, InvalidInput
from gitops_bg.views.words import spoken
from tests.integration.cli.conftest import Cli
from tests.support.git.remote import GitRemote
from tests.support.scenario import App, Scenario


def test_help_lists_every_exit_code_and_each_verb_has_an_example() -> None:
    runner = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"})
    shown = " ".join(runner.invoke(main.app, ["--help"]).stdout.split())
    for code, meaning in errors.TABLE.items():
        assert f"{code} {meaning[:20]}" in shown
    names = [verb.name for verbs in VERBS.values() for verb in verbs]
    assert len(names) == len(set(names)) > 20
    for name in names:
        result = runner.invoke(main.app, [name or "", "--help"])
        assert f"Example: gitops-bg {name}" in result.stdout, name


def test_completion_is_offered() -> None:
    """As the shell asks for it; `--show-completion` would ask which shell its parent process is."""
    asked = {"_GITOPS_BG_COMPLETE": "source_bash"}
    result = CliRunner(env=asked).invoke(main.app, [], prog_name="gitops-bg")
    assert "complete " in result.output
    assert "_GITOPS_BG_COMPLETE" in result.output


def test_an_agent_without_the_name_of_its_cluster_says_what_to_type(cli: Cli) -> None:
    said = cli("agent", "--once", code=errors.USAGE)
    assert "--cluster prod" in said
    assert "gitops-bg/state/" in said


def test_no_repository_says_what_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    result = CliRunner().invoke(main.app, ["history", "shop/web"], env={"GITOPS_BG_REPO": ""})
    assert (result.exit_code, "Give --repo" in result.stderr) == (2, True)


def test_a_refused_transport_and_credentials_in_a_url_are_usage_errors(cli: Cli) -> None:
    assert "only file, https and ssh" in cli("history", "a/b", "--repo", "ext::sh -c id", code=2)
    shown = cli("history", "a/b", "--repo", "https://me:secret@example.com/x.git", code=2)
    assert "contains credentials" in shown
    assert "secret" not in shown


def test_an_empty_remote_a_missing_branch_and_one_that_is_away(cli: Cli, world: Scenario) -> None:
    assert "the remote is empty" in cli("history", "a/b", code=5)
    world.publish("first", {"a.txt": "x"})
    assert "has no branch other" in cli("history", "a/b", "--branch", "other", code=5)
    world.remote.go_down()
    cli("history", "a/b", code=4)


def test_a_kubeconfig_that_is_not_there_is_asked_for(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.env["GITOPS_BG_KUBECONFIG"] = str(tmp_path / "nowhere")
    asked = "name one by --kubeconfig or KUBECONFIG"
    assert f"error: there is no kubeconfig {tmp_path}/nowhere; {asked}" in " ".join(cli("get", code=2).split())
    cli.env["GITOPS_BG_KUBECONFIG"] = ""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert f"error: there is no kubeconfig ~/.kube/config; {asked}" in cli("get", code=2)


def test_one_of_several_kubeconfigs_is_enough(cli: Cli, web: App, tmp_path: Path) -> None:
    cli.env["GITOPS_BG_KUBECONFIG"] = f"{tmp_path}/nowhere:{cli.env['GITOPS_BG_KUBECONFIG']}"
    assert "Healthy" in cli("get", "-n", web.key.namespace)


def test_a_kubeconfig_that_cannot_be_used_says_why(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "odd").write_text("kind: Config\n")
    assert "cannot be used" in cli("get", "--kubeconfig", str(tmp_path / "odd"), code=2)
    said = " ".join(cli("get", "--context", "mars", code=2).split())
    assert "mars" in said
    assert "another context by --context" in said


def test_a_cluster_that_does_not_answer(cli: Cli, tmp_path: Path) -> None:
    kubeconfig = Path(cli.env["GITOPS_BG_KUBECONFIG"]).read_text()
    dead = tmp_path / "dead"
    dead.write_text(kubeconfig.replace("127.0.0.1:", "127.0.0.1:1/"))
    cli.env["GITOPS_BG_KUBECONFIG"] = str(dead)
    cli("get", code=4)


def test_a_name_in_two_namespaces_must_be_said_in_full(cli: Cli, web: App) -> None:
    twin = web.app_yaml().replace(web.key.namespace, "elsewhere")
    web.scenario.publish("a twin", {"apps/elsewhere/web/app.yaml": twin})
    assert "is ambiguous: elsewhere/web" in cli("history", "web", code=2)


def test_an_unknown_author_is_asked_for(cli: Cli, web: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.delenv("GIT_AUTHOR_NAME", raising=False)
    monkeypatch.delenv("GIT_AUTHOR_EMAIL", raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.chdir("/")
    cli.env["GITOPS_BG_AUTHOR"] = ""
    assert "who are you?" in cli("set-image", str(web.key), "web=x:1", code=2)
    assert "is no author" in cli("set-image", str(web.key), "web=x:1", "--author", "Grace", code=2)


def test_an_author_may_be_named_as_for_git_itself(cli: Cli, web: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "grace@example.com")
    cli.env["GITOPS_BG_AUTHOR"] = ""
    cli("set-image", str(web.key), "web=registry.example/web:v2")
    web.scenario.pull()
    assert web.scenario.remote.run("log", "-1", "--format=%an <%ae>") == "Grace <grace@example.com>"


def test_a_bug_ends_with_its_own_code_and_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(main, "app", broken)
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == errors.BUG
    assert "This is a bug in gitops-bg" in capsys.readouterr().err


def test_every_error_has_an_exit_code() -> None:
    def blank(kind: type[GitopsBgError]) -> GitopsBgError:
        """One that nobody filled: what they are made of differs."""
        error = kind.__new__(kind)
        if isinstance(error, InvalidInput):
            error.problems = ()
        return error

    kinds = [GitopsBgError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert {errors.code_of(blank(kind)) for kind in kinds} <= set(errors.TABLE)


def test_what_others_wrote_cannot_drive_the_terminal() -> None:
    assert clean("a\x1b[2Jb\nc") == "a [2Jb\nc"


@pytest.mark.parametrize(("text", "expected"), [("30s", 30), ("1h30m", 5400), ("250ms", 0.25), ("7", 7), ("0s", 0)])
def test_durations(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(("given", "text"), [(0.4, "0s"), (59, "59s"), (60, "1m"), (3661, "1h1m"), (172800, "2d")])
def test_durations_are_spoken_in_two_units(given: float, text: str) -> None:
    assert spoken(given) == text


def test_the_repository_is_the_origin_of_where_one_is(
    git_remote: GitRemote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(git_remote.clone)
    assert repository_url("") == git_remote.url
    assert repository_url("git@example.com:a/b.git") == "git@example.com:a/b.git"
    assert repository_url("../remote.git") == str(git_remote.bare)
    git_remote.run("remote", "set-url", "origin", "../remote.git")
    assert repository_url("") == str(git_remote.bare)


def test_an_author_is_a_name_and_an_address() -> None:
    assert author(" Grace Hopper <grace@example.com> ") == ("Grace Hopper", "grace@example.com")

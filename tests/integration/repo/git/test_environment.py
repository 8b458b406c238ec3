"""Of the machine's environment, only listed variables reach git, whatever their values."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.repo.git.transport import LET_THROUGH
from gitops_bg.repo.ledger.ledger_file import LedgerBatch, SubjectState
from tests.integration.repo.conftest import API, NOON, WEB, Opener, change
from tests.support.git.remote import GitRemote, locked_down_env
from tests.support.waiting import HANGS

# All that `man git`, `man git-config` and GitPython name, and some that nobody knows.
GIT_VARIABLES = [
    *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INDEX_VERSION", "GIT_OBJECT_DIRECTORY"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES", "GIT_SHALLOW_FILE"),
    *("GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_DEFAULT_HASH", "GIT_DEFAULT_REF_FORMAT", "GIT_REF_BACKEND", "GIT_PREFIX"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_REF_PARANOIA", "GIT_QUARANTINE_PATH"),
    *("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE", "GIT_IMPLICIT_WORK_TREE"),
    *("GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_PARAMETERS"),
    *("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0", "GIT_ATTR_NOSYSTEM", "GIT_ATTR_SOURCE"),
    *("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_PAGER_IN_USE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"),
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_MERGE_VERBOSITY"),
    *("GIT_PROXY_COMMAND", "GIT_PROXY_SSL_CAINFO", "GIT_PROXY_SSL_CERT", "GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL"),
    *("GIT_PROTOCOL_FROM_USER", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_SSL_VERSION"),
    *(
        "GIT_SSL_NO_VERIFY",
        "GIT_SSL_CIPHER_LIST",
        "GIT_HTTP_LOW_SPEED_LIMIT",
        "GIT_HTTP_USER_AGENT",
        "GIT_CURL_VERBOSE",
    ),
    *(
        "GIT_TRACE",
        "GIT_TRACE_SETUP",
        "GIT_CURL_VERBOSE",
        "GIT_TRACE_PACKET",
        "GIT_TRACE2",
        "GIT_TRACE2_EVENT",
        "GIT_REDIRECT_STDIN",
    ),
    *("GIT_REDIRECT_STDOUT", "GIT_REDIRECT_STDERR", "GIT_FLUSH", "GIT_ICASE_PATHSPECS", "GIT_GLOB_PATHSPECS"),
    *("GIT_LITERAL_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE"),
    *("GIT_GRAFT_FILE", "GIT_NO_LAZY_FETCH", "GIT_OPTIONAL_LOCKS", "GIT_REFLOG_ACTION", "GIT_ADVICE", "GIT_USER_AGENT"),
    *("GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_NOTES_REF", "GIT_PRINT_SHA1_ELLIPSIS", "GIT_SOMETHING_NEW"),
    *("GIT_PYTHON_GIT_EXECUTABLE", "GIT_PYTHON_REFRESH", "GIT_PYTHON_TRACE"),
]
NONSENSE = dict.fromkeys(GIT_VARIABLES, "/nowhere")


@pytest.fixture
def nonsense(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every variable of git says nonsense, and the user's own files do."""
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    (home / ".gitconfig").write_text('[url "file:///nowhere"]\n\tinsteadOf = "file://"\n')
    (home / ".config/git/config").write_text("[core]\n\tbare = nonsense\n")
    (home / ".config/git/attributes").write_text("*.yaml diff=nonsense filter=nonsense\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    for name, value in NONSENSE.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("nonsense")
def test_everything_is_done_where_every_variable_of_git_says_nonsense(opened: Opener, remote: GitRemote) -> None:
    repository = opened()
    assert repository.poll().apps == 2
    repository.promotions.commit([change(repository)])
    repository.promotions.offer([change(repository, app=API, version=1)])
    repository.ledger.publish(
        {WEB: LedgerBatch("life-1", (LedgerEntry(1, NOON, Event.PROMOTED),), SubjectState(rollout=1))}
    )
    assert repository.landings([(WEB, "primary.yaml")])
    repository.mirror.tidy()
    repository.poller.begin_again()
    assert repository.poll().apps == 2
    assert set(remote.branches()) == {"main", "gitops-bg/promote/shop/api", "gitops-bg/state/prod"}
    assert {commit.author for commit in remote.log("gitops-bg/state/prod")} == {"gitops-bg"}


def test_a_process_starts_where_every_variable_of_git_says_nonsense(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import gitops_bg.repo.repository"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **NONSENSE}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=HANGS)
    assert (done.returncode, done.stderr) == (0, "")


def test_git_sees_nothing_of_the_machine_but_what_is_let_through(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SOME_SECRET", "no-name; exit 1", "UID", "SHELLOPTS", "BASH_FUNC_exec%%"):
        monkeypatch.setenv(name, "s3cret")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/user/1/agent")
    seen = tmp_path / "seen"
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\nenv > '{seen}'\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(Exception, match="git ls-remote"):
        opened("git@git.example.com:x", ssh_program=str(program)).poll()
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    ours = {name for name in names if name.startswith("GIT_")} | {"LC_ALL", "LANGUAGE", "PWD", "SHLVL", "_", "OLDPWD"}
    assert names - ours <= set(LET_THROUGH)
    assert "SSH_AUTH_SOCK" in names


def test_the_users_own_git_means_the_current_directory(tmp_path: Path) -> None:
    remote = GitRemote(tmp_path / "git")
    other = GitRemote(tmp_path / "other")
    code = (
        "from gitops_bg.cli.repository.user_git import author, repository_url; print(repository_url(''), *author(''))"
    )
    theirs = locked_down_env(tmp_path, GIT_CONFIG_GLOBAL=str(tmp_path / "theirs"))
    (tmp_path / "theirs").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
    named = {name: value for name, value in theirs.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))}
    hook = {"GIT_DIR": str(other.clone / ".git"), "GIT_INDEX_FILE": "/nowhere", "GIT_CONFIG_COUNT": "nonsense"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env={**named, **hook}, cwd=remote.clone, capture_output=True, text=True, timeout=HANGS
    )
    assert done.stdout.strip() == f"{remote.url} Ada ada@example.com", done.stderr

"""A remote behind a real OpenSSH server: the errors that users see, each with the option that mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitops_bg.repo.git.errors import AuthenticationFailed, RemoteUnreachable
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import WEB, Opener, change
from tests.support.git.remote import GitRemote
from tests.support.openssh.server import SshServer, serving


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    with serving(tmp_path / "sshd") as made:
        yield made


@pytest.fixture
def over_ssh(server: SshServer, remote: GitRemote, opened: Opener) -> Callable[..., Repository]:
    """Opens the remote with the right key and host, or with what is given instead."""

    def open_one(**settings: object) -> Repository:
        given = {"ssh_key_file": server.folder / "client", "known_hosts_file": server.known_hosts(), **settings}
        return opened(server.url(remote.bare), **given)

    return open_one


def test_fetch_and_push(over_ssh: Callable[..., Repository], remote: GitRemote) -> None:
    repository = over_ssh()
    assert repository.poll().apps == 2
    assert set(repository.files(WEB)) == {"app.yaml", "primary.yaml", "target.yaml"}
    repository.promotions.commit([change(repository)])
    assert len(remote.log()) == 2


def test_another_host_in_its_place_is_refused(over_ssh: Callable[..., Repository], server: SshServer) -> None:
    with pytest.raises(AuthenticationFailed, match=r"Host key verification failed.*--known-hosts-file"):
        over_ssh(known_hosts_file=server.known_hosts("other")).poll()


def test_a_host_that_nobody_knows_is_refused(over_ssh: Callable[..., Repository], tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(AuthenticationFailed, match=r"Host key verification failed.*--known-hosts-file"):
        over_ssh(known_hosts_file=tmp_path / "empty").poll()


def test_a_key_that_it_does_not_know_is_refused(over_ssh: Callable[..., Repository], server: SshServer) -> None:
    with pytest.raises(AuthenticationFailed, match=r"Permission denied.*--ssh-key-file"):
        over_ssh(ssh_key_file=server.folder / "other").poll()


def test_one_that_is_down_is_unreachable_until_it_answers(
    over_ssh: Callable[..., Repository], server: SshServer
) -> None:
    repository = over_ssh()
    repository.poll()
    server.stop()
    with pytest.raises(RemoteUnreachable, match=r"Connection refused.*is it there\? git ls-remote ssh://"):
        repository.poll()


def test_a_repository_that_is_not_there_says_so(server: SshServer, opened: Opener, tmp_path: Path) -> None:
    settings = {"ssh_key_file": server.folder / "client", "known_hosts_file": server.known_hosts()}
    with pytest.raises(RemoteUnreachable, match="does not appear to be a git repository"):
        opened(server.url(tmp_path / "nowhere"), **settings).poll()

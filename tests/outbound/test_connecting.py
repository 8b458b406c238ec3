"""Libraries that resolve names by themselves connect only where the rules permit, in this context only."""

from __future__ import annotations

import contextvars
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg.outbound.addresses import EVERYWHERE, ORDINARY
from gitops_bg.outbound.connections import NotPermitted, permitted_connections


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_connection_to_a_refused_address_is_not_made(port: int) -> None:
    with permitted_connections(ORDINARY) as refused, pytest.raises(NotPermitted, match="this machine itself"):
        socket.create_connection(("127.0.0.1", port))
    assert len(refused) == 1
    socket.create_connection(("127.0.0.1", port)).close()


def test_a_permitted_one_is(port: int) -> None:
    with permitted_connections(EVERYWHERE) as refused:
        socket.create_connection(("127.0.0.1", port)).close()
    assert refused == []


def test_a_socket_of_this_machine_is_none_of_another(tmp_path: Path) -> None:
    with permitted_connections(EVERYWHERE), socket.socket(socket.AF_UNIX) as made, pytest.raises(NotPermitted):
        made.connect(str(tmp_path / "socket"))


def test_other_threads_are_not_concerned_unless_they_get_the_context(port: int) -> None:
    told: list[bool] = []

    def connect() -> None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            told.append(True)
        except NotPermitted:
            told.append(False)

    with permitted_connections(ORDINARY):
        context = contextvars.copy_context()
        for target in (connect, lambda: context.run(connect)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    assert told == [True, False]

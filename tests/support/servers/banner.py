"""A server that greets whoever connects, in words that are no HTTP, as SSH, mail and databases do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def speaking(words: bytes) -> Iterator[str]:
    """Its address, for one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.sendall(words)
                connection.settimeout(10)
                while connection.recv(65536):
                    pass

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(10)

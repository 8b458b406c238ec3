"""Answers 404 to every request: where HTTPRoutes of release groups lead what nobody may answer (decision 37).

``python -m gitops_bg.web.deny [HOST:PORT]``, as `deploy/deny-service.yaml` starts it. Knows no request and no group.
"""

import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from gitops_bg.agent.runtime.signals import Stopped, stopping_on_signals
from gitops_bg.web.server import WebServer, parse_address


async def deny(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request."""
    text = "the version that this request names does not answer it\n"
    await PlainTextResponse(text, 404)(scope, receive, send)


def main(arguments: Sequence[str]) -> None:
    """Serve until SIGTERM or SIGINT. Raises the errors of `parse_address` and ``CannotListen``."""
    host, port = parse_address(arguments[0] if arguments else "0.0.0.0:8080")
    stopped = threading.Event()
    with suppress(Stopped), stopping_on_signals() as stopping, WebServer(deny, host, port) as server:
        stopping.now_call(stopped.set)
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        stopped.wait()


if __name__ == "__main__":
    main(sys.argv[1:])

"""What a call of the command line imports, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.waiting import HANGS

HEAVY = frozenset(
    ("kubernetes", "pydantic", "git", "httpx", "ruamel", "apscheduler", "deepdiff", "cel", "starlette", "uvicorn")
)
"""Libraries that take a tenth of a second of CPU or more, with what they import."""

OF_OTHERS = frozenset(
    ("kubernetes", "prompt_toolkit", "httpx", "apscheduler", "prometheus_client", "starlette", "uvicorn", "jinja2")
)
"""What no verb imports that reads Git and the cluster once."""

ENGINE = frozenset(("gitops_bg.core.world", "gitops_bg.core.engine", "gitops_bg.core.group_engine"))
"""Of our own: each imports half of the core."""

_SHORT = f"name if name in {set(ENGINE)!r} else name.partition('.')[0]"
_AT_THE_END = f"print('imported:', *{{{_SHORT} for name in sys.modules}}, file=sys.stderr)"
_MAIN = "from gitops_bg.cli.main import main; main('gitops-bg')"
_CALL = f"import atexit, sys; atexit.register(lambda: {_AT_THE_END}); {_MAIN}"


def imported_by(*arguments: str, **environment: str) -> set[str]:
    """The top-level packages, and modules of `ENGINE`, that a call, which must succeed, has imported when it ends."""
    command = [sys.executable, "-c", _CALL, *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    found = set(done.stderr.rpartition("imported:")[2].split())
    assert "typer" in found
    return found

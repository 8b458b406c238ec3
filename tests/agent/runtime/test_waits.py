"""No wait without a time limit, but where something is sure to end it: on a main thread a signal would not.

CPython notices a signal on the main thread once that runs bytecode again; `gitops_bg.agent.runtime.signals` says more.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

_WAITS = frozenset({"acquire", "join", "result", "wait"})
_UNTIMED_IN_THE_SECOND = frozenset({"wait_for"})

SURE_TO_END = {
    "gitops_bg/agent/agent.py: self._stopped.wait()": "the thread of signals calls `finish`",
    "gitops_bg/cli/commands/agent.py: running.wait()": "that of `Agent`",
    "gitops_bg/web/deny.py: stopped.wait()": "the thread of signals sets it",
    "gitops_bg/agent/runtime/workers.py: self._changed.wait()": "on the threads of workers; `stop` ends it",
    "gitops_bg/analysis/measurements.py: self._changed.wait()": "on threads that measure; `stop` ends it",
    "gitops_bg/analysis/bounded.py: deadline.join()": "a timer that was cancelled",
    "gitops_bg/cli/commands/inspect/running.py: process.wait()": "a process of the terminal, which Ctrl-C ends as well",
    "gitops_bg/cli/commands/operate/abort.py: aborts[key].result()": "each ends by --timeout",
    "gitops_bg/cli/demo/agent_process.py: self._process.wait()": "a process that was killed",
    "gitops_bg/cli/demo/gitea.py: server.wait()": "a process that was killed",
    "gitops_bg/cli/demo/traffic.py: client.join()": "a client ends after one request, which has a time limit",
    "gitops_bg/cli/views/pager.py: thread.join()": "a thread that was told to end",
    "gitops_bg/repo/git/directory.py: self._lock.acquire()": "whoever has it works under limits of its own",
    "gitops_bg/repo/git/objects.py: process.wait()": "a process that was killed",
    "gitops_bg/repo/git/runner.py: process.wait()": "a process that was killed",
    "gitops_bg/repo/git/runner.py: self._process.wait()": "a process that was killed",
    "gitops_bg/sandbox/controllers/loop.py: self._thread.join()": "a thread that ends after its step",
    "gitops_bg/sandbox/http/wire.py: self._thread.join()": "a thread that was woken to end",
    "gitops_bg/web/dashboard/events.py: waiter.changed.wait()": "the wait around it has a limit",
    "gitops_bg/web/dashboard/source.py: result.result()": "whoever reads sets it, also where the reading fails",
}
"""What ends each wait that has no limit."""


def _untimed(text: str) -> Iterator[str]:
    for call in ast.walk(ast.parse(text)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.keywords:
            continue
        name, given = call.func.attr, len(call.args)
        no_limit = given == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value is None
        if (name in _WAITS and (not given or no_limit)) or (name in _UNTIMED_IN_THE_SECOND and given == 1):
            yield ast.unparse(call)


def test_every_wait_without_a_limit_is_sure_to_end() -> None:
    files = sorted((ROOT / "gitops_bg").rglob("*.py"))
    found = {f"{file.relative_to(ROOT)}: {call}" for file in files for call in _untimed(file.read_text())}
    assert found == SURE_TO_END.keys()


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("stopped.wait()", True),
        ("stopped.wait(None)", True),
        ("thread.join()", True),
        ("lock.acquire()", True),
        ("changed.wait_for(done)", True),
        ("stopped.wait(1.0)", False),
        ("thread.join(timeout=2)", False),
        ("', '.join(names)", False),
        ("changed.wait_for(done, 1.0)", False),
    ],
)
def test_the_rule_finds_what_it_is_for(text: str, is_found: bool) -> None:
    assert bool([*_untimed(text)]) is is_found

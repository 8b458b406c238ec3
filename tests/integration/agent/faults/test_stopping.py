"""A process ends on SIGTERM within its grace, at whatever moment the signal arrives: a thousand stops of its shape."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from tests.support.agent.agent_processes import AgentProcess
from tests.support.agent.leash import leashed
from tests.support.scenario import Scenario
from tests.support.waiting import PATIENCE, eventually, stretched

_STOPS = 1000
_LATEST = 0.004
"""Seconds after which a signal is sent at the latest: the window is around the moment at which the wait begins."""

_AGENTS = 4
_AT_WORK = 3.0


@contextmanager
def program(shape: str) -> Iterator[subprocess.Popen[str]]:
    command = leashed([sys.executable, "-m", "tests.support.agent.stopping_program", shape])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        hangs = Timer(PATIENCE, process.kill)
        hangs.start()
        try:
            yield process
        finally:
            hangs.cancel()
            process.kill()


def hears(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == "waits\n"


def test_a_thousand_signals_each_end_a_wait_that_has_no_time_limit() -> None:
    draw = random.Random(11)
    with program("again_and_again") as process:
        for number in range(_STOPS):
            assert hears(process), f"it hung after stop {number}"
            time.sleep(draw.uniform(0.0, _LATEST))
            process.send_signal(signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_interrupts_what_waits_before_anything_can_be_asked(number: signal.Signals) -> None:
    for _ in range(5):
        with program("while_it_starts") as process:
            assert hears(process)
            process.send_signal(number)
            _, said = process.communicate()
            assert process.returncode == 1, said
            assert "Stopped" in said


def test_a_process_that_cannot_end_is_ended_and_says_what_its_threads_did() -> None:
    with program("deadlocked") as process:
        assert hears(process)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate()
    assert process.returncode == 1
    assert "Timeout" in said
    assert "stopping_program.py" in said


@pytest.mark.slow
def test_real_agents_end_within_five_seconds_at_whatever_moment_they_are_told_to(
    world: Scenario, tmp_path: Path
) -> None:
    app = world.app()
    app.add("v1")
    draw = random.Random(34)
    for number in range(_AGENTS):
        agent = AgentProcess(world, tmp_path / f"agent-{number}", "--poll", "0.2s")
        try:
            is_at_work = number % 2 == 1  # the others are stopped while they start, some before they can hear of it
            if is_at_work:
                eventually(lambda agent=agent: agent.leads, what="it works")
            time.sleep(draw.uniform(0.0, _AT_WORK))
            began = time.monotonic()
            assert agent.stop() in ((0,) if is_at_work else (0, -signal.SIGTERM)), agent.log
            assert time.monotonic() - began < stretched(5)
        finally:
            agent.close()
    app.wait_live("v1")

"""Plays the story on the scene: times each step, collects what was found, and ends with an exit status."""

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gitops_bg.cli.demo import ledger
from gitops_bg.cli.demo.act import Act, NotAsExpected
from gitops_bg.cli.demo.git import GitFailed
from gitops_bg.cli.demo.keep import leave_running
from gitops_bg.cli.demo.logfile import last_lines
from gitops_bg.cli.demo.report import Findings, StepResult, TimedSwitch, write
from gitops_bg.cli.demo.scene import APP, scene
from gitops_bg.cli.demo.screen import Screen
from gitops_bg.cli.demo.story import STORY, Step

AS_EXPECTED = 0
NOT_AS_EXPECTED = 1
INTERRUPTED = 130

_BREATH = 0.8
"""Seconds between two steps: time to read, and for requests to show where traffic is."""


def run_demo(report: Path | None, keep: bool) -> int:
    """Run the demo; returns the exit status: 0, 1 where anything was not as expected, 130 after Ctrl-C.

    ``report`` is where the findings go as JSON: written before anything starts, so that a file that cannot be
    written costs no time, and again when the story has been told. With ``keep`` everything goes on until Ctrl-C.
    """
    return play(report, keep)


def play(file: Path | None, keep: bool, story: Sequence[Step] = STORY, deadline: float | None = None) -> int:
    """The same with any story, and any number of seconds for what is expected."""
    findings, screen = Findings(), Screen()
    try:
        _save(findings, file)
    except OSError as error:
        screen.missed(f"the report cannot be written: {error}")
        return NOT_AS_EXPECTED
    try:
        with _ending_on_sigterm(), scene() as built:
            act = Act(built, screen, *([deadline] if deadline else []))
            _tell_all(act, story, findings)
            screen.summary(findings)
            if keep:
                _save(findings, file)
                leave_running(built, screen)
    except KeyboardInterrupt:
        screen.note("stopped before the end")
        return INTERRUPTED
    finally:
        _save(findings, file)
    return AS_EXPECTED if findings.ok else NOT_AS_EXPECTED


def _save(findings: Findings, file: Path | None) -> None:
    if file is not None:
        write(findings, file)


def _tell_all(act: Act, story: Sequence[Step], findings: Findings) -> None:
    """Play the steps up to the first that fails: what comes after it would prove nothing."""
    built = act.scene
    act.screen.title("gitops-bg demo: a sandbox cluster, a bare Git remote, the agent, and clients that never stop")
    with act.screen.watching(built.traffic.lately):
        for number, step in enumerate(story, start=1):
            findings.steps.append(_played(act, number, step))
            if findings.steps[-1].error:
                break
        else:
            findings.complete = True
    findings.requests, findings.failed_requests = len(built.traffic), len(built.traffic.failures())
    findings.switches = _timed(act)


def _played(act: Act, number: int, step: Step) -> StepResult:
    begin, mark = time.monotonic(), len(act.scene.traffic)
    act.screen.step(number, step.name)
    error = ""
    try:
        step.play(act)
        time.sleep(_BREATH)
    except (NotAsExpected, GitFailed) as failure:
        error = str(failure)
        act.screen.missed(error)
        act.screen.output("\n".join(last_lines(act.scene.log)))
    act.screen.shares(act.scene.traffic.shares(mark))
    return StepResult(step.name, time.monotonic() - begin, error)


def _timed(act: Act) -> list[TimedSwitch]:
    """What the ledger tells, with what the clients saw: one after the other, they are the same switches."""
    remote = act.scene.remote
    told = ledger.switches(remote, ledger.events(remote, act.scene.ledger, APP), APP)
    return [TimedSwitch(switched, arrival.seconds) for switched, arrival in zip(told, act.arrivals, strict=False)]


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the demo as Ctrl-C does, so that it cleans up. Only the main thread can hear signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

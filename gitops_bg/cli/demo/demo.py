"""Plays the stories, each on its own scene: times each step, collects findings, returns an exit status."""

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gitops_bg.cli.demo import ledger
from gitops_bg.cli.demo.act import DEADLINE, Act, NotAsExpected
from gitops_bg.cli.demo.git import GitFailed
from gitops_bg.cli.demo.gitea import GiteaFailed
from gitops_bg.cli.demo.keep import leave_running
from gitops_bg.cli.demo.logfile import last_lines
from gitops_bg.cli.demo.report import Findings, StepResult, TimedSwitch, write
from gitops_bg.cli.demo.scene import APP, DemoCluster, Scene, scene
from gitops_bg.cli.demo.screen import Screen
from gitops_bg.cli.demo.stories.day import DAY
from gitops_bg.cli.demo.story import Step, Story

AS_EXPECTED = 0
NOT_AS_EXPECTED = 1
INTERRUPTED = 130

_BREATH = 0.8
"""Seconds between two steps: time to read, and for requests to show where traffic goes."""


def run_demo(report: Path | None, keep: bool, stories: Sequence[Story] = (DAY,)) -> int:
    """Run the demo; return the exit status: 0, 1 where anything was not as expected, 130 after Ctrl-C.

    ``report`` is the file for the findings as JSON: written before anything starts, so that an unwritable file costs no
    time, and again after all stories. With ``keep`` the last scene keeps running until Ctrl-C.
    """
    return play(report, keep, stories)


def play(file: Path | None, keep: bool, stories: Sequence[Story], deadline: float = DEADLINE) -> int:
    """Run the demo with ``deadline`` seconds for each expectation."""
    findings, screen = Findings(), Screen()
    try:
        _save(findings, file)
    except OSError as error:
        screen.missed(f"the report cannot be written: {error}")
        return NOT_AS_EXPECTED
    try:
        with _ending_on_sigterm():
            for story in stories:
                with scene(story.hosting, story.subject, story.clusters) as built:
                    act = Act(built, screen, deadline)
                    told = _play_steps(act, story, findings)
                    if told and story is not stories[-1]:
                        continue
                    findings.complete = told
                    screen.summary(findings)
                    if keep:
                        _save(findings, file)
                        leave_running(built, screen)
                    break
    except GiteaFailed as failure:
        screen.missed(str(failure))
    except KeyboardInterrupt:
        screen.print_note("stopped before the end")
        return INTERRUPTED
    finally:
        _save(findings, file)
    return AS_EXPECTED if findings.ok else NOT_AS_EXPECTED


def _save(findings: Findings, file: Path | None) -> None:
    if file is not None:
        write(findings, file)


def _play_steps(act: Act, story: Story, findings: Findings) -> bool:
    """Play the steps up to the first that fails, as later ones would prove nothing; return whether all succeeded."""
    built = act.scene
    act.screen.title(story.title)
    with act.screen.watching(lambda: {_title(built, each): each.traffic.lately() for each in built.clusters}):
        told = all(_succeeds(act, step, findings) for step in story.steps)
    for each in built.clusters:
        findings.requests += len(each.traffic)
        findings.failed_requests += len(each.traffic.failures())
        findings.switches += _timed(act, each)
    return told


def _succeeds(act: Act, step: Step, findings: Findings) -> bool:
    findings.steps.append(_played(act, len(findings.steps) + 1, step))
    return not findings.steps[-1].error


def _played(act: Act, number: int, step: Step) -> StepResult:
    begin, marks = time.monotonic(), [len(each.traffic) for each in act.scene.clusters]
    act.screen.step(number, step.name)
    error = ""
    try:
        step.play(act)
        time.sleep(_BREATH)
    except (NotAsExpected, GitFailed, GiteaFailed) as failure:
        error = str(failure)
        act.screen.missed(error)
        for log in act.scene.logs:
            act.screen.output("\n".join(last_lines(log)))
    for each, mark in zip(act.scene.clusters, marks, strict=True):
        act.screen.shares(each.traffic.shares(mark), _title(act.scene, each))
    return StepResult(step.name, time.monotonic() - begin, error)


def _title(built: Scene, cluster: DemoCluster) -> str:
    """Return what a cluster is called; nothing where it is the only one."""
    return cluster.name if built.further else ""


def _timed(act: Act, cluster: DemoCluster) -> list[TimedSwitch]:
    """Combine the switches in a cluster's ledger with what its clients saw: both list the same switches, in order."""
    told = ledger.switches(act.scene.remote, cluster, APP)
    seen = [each for each in act.arrivals if each.cluster == cluster.name]
    return [TimedSwitch(cluster.name, switched, arrival.seconds) for switched, arrival in zip(told, seen, strict=False)]


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """Make SIGTERM end the demo as Ctrl-C does, so that it cleans up. Only the main thread can receive signals."""
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

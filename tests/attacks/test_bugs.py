"""An unexpected exception at every boundary affects one app's condition, or one poll's, and passes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from gitops_bg import hooks
from gitops_bg.agent.desired import git_writes, reader
from gitops_bg.agent.reconcile import apps, facts
from gitops_bg.agent.reconcile.background import MeasurementRunner
from gitops_bg.agent.runtime import cpu, workers
from gitops_bg.analysis.measurements import MetricEvaluator
from gitops_bg.cluster import cluster as cluster_module
from gitops_bg.cluster.execution.jobs import Jobs
from gitops_bg.hooks import HookCaller
from gitops_bg.repo.git.objects import ObjectHeader, Objects
from gitops_bg.repo.git.runner import Finished, GitFailed
from gitops_bg.repo.ledger.ledger import Ledger
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.promotion import Promotions
from tests.attacks.conftest import Siege
from tests.support.analysis import analysed, publish_templates
from tests.support.scenario import App
from tests.support.servers.hook_server import hook_server

WORDS = "the \u202ebug\nof a test"
SHOWN = "a bug of the agent: RuntimeError: the \\u202ebug\\nof a test"


def _fails(*given: Any, **named: Any) -> Any:
    raise RuntimeError(WORDS)


@dataclass(frozen=True)
class Boundary:
    """A function that is to fail wherever ``web`` is what it deals with."""

    place: Any
    name: str

    @contextmanager
    def broken(self, instead: Callable[..., Any] = _fails) -> Iterator[list[float]]:
        """Let it fail for `web` inside, or do something else instead; the times when it has."""
        sound = getattr(self.place, self.name)
        failures: list[float] = []

        def failing(*given: Any, **named: Any) -> Any:
            if _deals_with_web((*given, *named.values())):
                failures.append(time.monotonic())
                return instead(*given, **named)
            return sound(*given, **named)

        setattr(self.place, self.name, failing)
        try:
            yield failures
        finally:
            setattr(self.place, self.name, sound)


def _deals_with_web(values: Any) -> bool:
    """Whether an AppKey of `web` is among the values, a few levels down."""
    return any("name='web'" in repr(value)[:20_000] for value in values)


BOUNDARIES = {
    "gathering": Boundary(apps, "gather"),
    "acting": Boundary(cluster_module.Cluster, "carry_out"),
    "making the status": Boundary(cluster_module.Cluster, "save"),
    "reading the app's files": Boundary(reader, "load_app"),
    "finding the commits": Boundary(Repository, "origins"),
    "writing primary.yaml": Boundary(git_writes, "_of_app"),
    "offering a promotion": Boundary(Promotions, "offer"),
    "writing the ledger": Boundary(Ledger, "publish"),
    "asking what was measured": Boundary(MeasurementRunner, "results"),
    "ordering measurements": Boundary(MeasurementRunner, "update"),
    "ordering calls": Boundary(HookCaller, "update"),
}


@pytest.mark.parametrize("kind", BOUNDARIES)
def test_bug_that_strikes_one_app_is_its_condition_and_nobody_elses(kind: str, siege: Siege) -> None:
    web, tag = siege.web, f"bug{list(BOUNDARIES).index(kind)}"
    with BOUNDARIES[kind].broken() as failures:
        web.push_image(tag)
        condition = web.wait_condition("InternalError")
        assert SHOWN in condition["message"]
        siege.bystander_goes_on()
        siege.api.wait(siege.api.is_told, "the other app's history is in Git")
        assert siege.api.condition("InternalError")["status"] == "Absent"
        failed = len(failures)
        siege.look_again(web)
        web.wait(lambda: len(failures) > failed, "it has failed again")
        assert (web.phase(), web.condition("InternalError")) == ("Degraded", condition), "it stands while the bug lasts"
    web.push_image(f"{tag}-mended")
    web.wait(lambda: web.condition("InternalError")["status"] == "Absent", "the condition has gone", timeout=60)
    web.wait_offered(f"{tag}-mended")
    siege.bystander_goes_on()


def _endless(*given: Any, **named: Any) -> Any:
    while True:
        pass


ENDLESS = {
    "its files": (Boundary(reader, "load_app"), "InvalidSpec", "reading apps/"),
    "its decision": (Boundary(facts, "decide"), "InternalError", "deciding on "),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_computation_that_never_ends_is_ended_and_its_apps_condition(
    kind: str, siege: Siege, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Python, so that the others have a part of the time meanwhile: a limit of CPU, 0.5 s here, ends it."""
    monkeypatch.setattr(cpu, "LONGEST", 0.5)
    boundary, condition, said = ENDLESS[kind]
    web, tag = siege.web, f"endless{list(ENDLESS).index(kind)}"
    with boundary.broken(_endless) as begun:
        web.push_image(tag)
        message = web.wait_condition(condition)["message"]
        assert said in message
        assert "of CPU, and was ended" in message
        siege.bystander_goes_on()
        assert begun
    web.push_image(f"{tag}-mended")
    web.wait(lambda: web.condition(condition)["status"] != "True", "the condition has gone", timeout=60)
    web.wait_offered(f"{tag}-mended")
    siege.bystander_goes_on()


def test_look_that_hangs_is_its_apps_condition_and_takes_no_worker_away(
    siege: Siege, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, web, may_end = siege.world.agent, siege.web, threading.Event()
    assert agent is not None
    monkeypatch.setattr(workers, "LONGEST", 1.0)
    with Boundary(apps, "gather").broken(lambda *_, **__: may_end.wait(60)) as begun:
        web.push_image("hangs")
        try:
            assert "the log says where it hangs" in web.wait_condition("InternalError")["message"]
            siege.bystander_goes_on()
        finally:
            may_end.set()
        assert begun
    web.wait(lambda: web.condition("InternalError")["status"] == "Absent", "the condition has gone", timeout=60)
    web.wait_offered("hangs")
    siege.bystander_goes_on()


def test_object_of_the_cluster_that_cannot_be_read_is_its_apps_condition(siege: Siege) -> None:
    agent, web = siege.world.agent, siege.web
    assert agent is not None
    caches: Any = agent.cluster.caches
    cache = caches._replica_sets
    sound = cache._reduce

    def failing(body: Any, known: Any = None) -> Any:
        if body["metadata"]["name"] == name:  # others may change meanwhile, and nobody changes them back
            raise RuntimeError(WORDS)
        return sound(body, known)

    name = next(iter(web.versions().values())).name
    cache._reduce = failing  # type: ignore[method-assign]
    path = f"/apis/apps/v1/namespaces/{siege.world.namespace}/replicasets/{name}"
    siege.world.cluster.patch(path, {"metadata": {"annotations": {"a": "b"}}})
    assert SHOWN in web.wait_condition("InternalError")["message"]
    siege.bystander_goes_on()
    cache._reduce = sound  # type: ignore[method-assign]
    siege.world.cluster.patch(path, {"metadata": {"annotations": {"a": None}}})
    web.wait(lambda: web.condition("InternalError")["status"] == "Absent", "the condition has gone")


def test_bug_in_a_poll_is_that_polls(siege: Siege, monkeypatch: pytest.MonkeyPatch) -> None:
    """What moved is read by the next one: nothing is taken for known that nobody took over."""
    failed = _failing_once(monkeypatch, reader.MainReader, "read_promotions")
    siege.api.push_image("after-the-bug")
    assert failed.wait(10)
    siege.api.wait_condition("GitReachable", "False")
    siege.world.wake()
    siege.api.wait(lambda: "after-the-bug" in siege.api.versions(), "what was pushed meanwhile comes up")
    siege.bystander_goes_on()


@pytest.mark.parametrize("lost", ["the file", "git"])
def test_file_that_git_lost_between_two_questions_is_that_polls(
    lost: str, siege: Siege, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there when its size was asked for. The next poll reads it, from a new mirror if need be."""
    sound, struck = Objects.contents, threading.Event()

    def losing(objects: Objects, names: Iterable[str]) -> Iterator[tuple[ObjectHeader | None, bytes]]:
        asked = list(names)
        answers = list(sound(objects, asked))
        if struck.is_set() or not any(header and header.kind == "blob" for header, _ in answers):
            yield from answers
            return
        struck.set()
        if lost == "git":
            raise GitFailed("cat-file", Finished(-9, b"", ""))
        yield from ((None, b"") for _ in asked)

    monkeypatch.setattr(Objects, "contents", losing)
    tag = f"lost-{lost.replace(' ', '-')}"
    siege.web.push_image(tag)
    assert struck.wait(10)
    siege.world.wake()
    siege.web.wait_offered(tag)
    assert siege.web.condition("InvalidSpec")["status"] == "Absent"
    siege.bystander_goes_on()


def test_bug_in_a_watch_makes_it_list_anew(siege: Siege, monkeypatch: pytest.MonkeyPatch) -> None:
    from gitops_bg.cluster.observation.informer import Scope

    failed = _failing_once(monkeypatch, Scope, "put")
    siege.web.push_image("watched")
    assert failed.wait(10)
    siege.bystander_goes_on()


def test_bug_in_an_event_or_a_timer_is_logged_and_that_is_all(
    siege: Siege, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from gitops_bg.cluster.events import EventSink

    agent = siege.world.agent
    assert agent is not None
    told = _failing_once(monkeypatch, EventSink, "write")
    rechecked = _failing_once(monkeypatch, cluster_module.Cluster, "recheck")
    agent._resync()
    siege.web.push_image("told")
    assert told.wait(10)
    assert rechecked.is_set()
    siege.bystander_goes_on()
    assert "a resync of" in caplog.text
    assert "writing an Event" in caplog.text


WEB_TEMPLATE = """apiVersion: gitops-bg.dev/v1alpha1
kind: AnalysisTemplate
metadata: {name: asked}
spec: {metrics: [{name: asked, provider: {web: {url: "http://127.0.0.1:1/"}}}]}
"""
ASKED = {"prePromotionAnalysis": {"templates": [{"templateName": "asked"}]}}


def test_bug_in_a_job_is_an_error_of_the_measurement(siege: Siege) -> None:
    publish_templates(siege.world)
    analysed(siege.web, "prePromotionAnalysis")
    with _gone_afterwards(siege, "prePromotionAnalysis"), Boundary(Jobs, "_ensure").broken():
        siege.web.push_image("by-job")
        siege.web.wait(lambda: SHOWN in _said(siege.web), "the status says what went wrong")
        siege.bystander_goes_on()


def test_bug_in_a_measurement_is_its_error(siege: Siege) -> None:
    siege.world.publish("A template", {"analysis/asked.yaml": WEB_TEMPLATE})
    siege.web.strategy |= ASKED
    with _gone_afterwards(siege, "prePromotionAnalysis"), Boundary(MetricEvaluator, "_reading").broken():
        siege.web.push_image("by-provider")
        siege.web.wait(lambda: "RuntimeError" in _said(siege.web), "the status says what went wrong")
        siege.bystander_goes_on()


@pytest.mark.parametrize("name", ["request_for", "words_in_text"])
def test_bug_in_a_hook_is_its_answer_and_it_is_asked_again(
    name: str, siege: Siege, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found: a bug in what reads the answer was nobody's answer, and its rollout waited for ever."""
    with hook_server(private=True) as backend:
        siege.web.strategy["webhooks"] = [{"name": "ask", "type": "pre-rollout", "url": backend.url("/ask")}]
        with _gone_afterwards(siege, "webhooks"):
            failed = _failing_once(monkeypatch, hooks, name)
            siege.web.push_image(f"by-hook{name}")
            assert failed.wait(20)
            siege.bystander_goes_on()
            siege.world.advance(60)
            siege.web.wait_offered(f"by-hook{name}")


@contextmanager
def _gone_afterwards(siege: Siege, field: str) -> Iterator[None]:
    """`web` is told what a test wants of it; at the end it does without, and is well."""
    web = siege.web
    web.configure()
    try:
        yield
    finally:
        del web.strategy[field]
        web.configure()
    tag = f"t{len(web.versions())}"
    web.push_image(tag)
    web.wait_offered(tag)


def _said(app: App) -> str:
    """Every text of the status."""
    return "\n".join(_texts(app.status))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)


def _failing_once(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> threading.Event:
    """Let a function fail the next time it is called; set once it did."""
    sound: Callable[..., Any] = getattr(place, name)
    failed = threading.Event()

    def failing(*given: Any, **named: Any) -> Any:
        if failed.is_set():
            return sound(*given, **named)
        failed.set()
        raise RuntimeError(WORDS)

    monkeypatch.setattr(place, name, failing)
    return failed

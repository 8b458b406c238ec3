"""Several operators at once, a command that is repeated or interrupted: each command does what it said, and no more."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from gitops_bg.agent.operate.primary import content_of
from gitops_bg.agent.operate.requests import new_request
from gitops_bg.agent.reconcile.offline import Offline
from gitops_bg.cli.main import app as command_line
from gitops_bg.cluster.execution.operator_requests import OperatorRequests, annotation_of, requests_of
from gitops_bg.core import names
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.version import AppKey
from tests.integration.agent.test_analysis import GOOD, PRE, analysed
from tests.integration.cli.conftest import Cli
from tests.support.cluster.paths import collection
from tests.support.scenario import App
from tests.support.servers.backend import serving

COMMANDS = "gitops_bg.cli.commands.operate"


@pytest.fixture
def v3_on_its_way(web: App) -> App:
    """v2 serves and has proven itself, v1 is still warm, v3 is the candidate."""
    web.strategy["scaleDownDelaySeconds"] = 3600
    web.spec["progressDeadlineSeconds"] = 60
    web.configure()
    web.promote("v2")
    web.scenario.advance(120)
    web.scenario.wait_idle()
    web.push_image("v3")
    web.wait_offered("v3")
    web.wait_told()
    return web


def test_an_abort_that_is_repeated_finds_nothing_to_abort(cli: Cli, v3_on_its_way: App) -> None:
    web = v3_on_its_way
    said = cli("abort", str(web.key), web.name, "-n", web.key.namespace, "-r", "v3 is bad")
    assert said.count("aborted v3") == 1, "an app that is named twice is aborted once"
    said = cli("abort", str(web.key), "-r", "v3 is bad", code=1)
    assert "there was nothing to abort; v2" in said
    web.scenario.wait_idle()
    assert (web.live_tag(), [hold.digest for hold in web.record.holds]) == ("v2", [web.digest("v3")])


def test_abort_all_does_what_its_question_said(cli: Cli, v3_on_its_way: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """A colleague aborts the same app while the question stands."""
    web = v3_on_its_way

    def a_colleague_is_faster(_: object) -> None:
        ask_and_wait(web, OperatorCommand.ABORT)

    monkeypatch.setattr(f"{COMMANDS}.abort._ask", a_colleague_is_faster)
    said = cli("abort", "--all", "-n", web.key.namespace, "-r", "incident 4711")
    assert "aborted v3" in said
    assert "live traffic stays with v2" in said
    assert web.live_tag() == "v2"


def test_an_abort_is_told_as_done_whatever_others_ask_for_meanwhile(
    cli: Cli, web: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older command overwrites what waits, before an agent has seen it or after."""
    write = OperatorRequests.add
    answered_first: list[bool] = []

    def overwritten(self: OperatorRequests, app: AppKey, request: Request) -> None:
        write(self, app, request)
        if answered_first:
            if answered_first.pop():
                web.wait(lambda: web.record.operator.has_answered(request.id), "the abort is answered")
            overwrite(web, new_request(OperatorCommand.PROMOTE, "bob", "measure again"))

    monkeypatch.setattr(OperatorRequests, "add", overwritten)
    for after, tag in ((False, "v2"), (True, "v3")):
        web.push_image(tag)
        web.wait_offered(tag)
        web.wait_told()
        answered_first.append(after)
        said = cli("abort", str(web.key), "-r", "errors", "--grace", "20s")
        assert f"aborted {tag}" in said
        assert "no agent answered" not in said
        assert web.record.held(web.digest(tag))


def test_a_command_that_is_interrupted_takes_its_request_back(
    cli: Cli, web: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.push_image("v2")
    web.wait_offered("v2")
    web.wait_told()
    web.scenario.stop()
    other = new_request(OperatorCommand.PROMOTE, "bob", "measure again")
    web.ask(other)

    def interrupted(*_: Any) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Offline, "wait", interrupted)
    result = CliRunner().invoke(command_line, ["abort", str(web.key), "-r", "v2 is bad"], env=cli.env)
    assert result.exit_code == 130
    assert "interrupted; the request is taken back" in result.output
    assert waiting(web) == (other,)
    web.push_image("v3")
    web.scenario.start()
    web.wait_offered("v3")
    assert web.record.holds == ()


def test_promote_full_that_fails_leaves_the_checks_on(cli: Cli, web: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody changed the app between what the command read and what it would push."""
    with serving() as backend:
        backend.says(GOOD)
        analysed(web, backend, PRE, count=50, interval="60s")
        web.push_image("v2")
        web.wait_preview("v2")
        web.wait(lambda: bool(backend.asked), "it is measured")
        web.scenario.wait_idle()

        def changed_meanwhile(*args: Any, **kwargs: Any) -> Any:
            web.spec["minReadySeconds"] = 1
            web.configure()
            return content_of(*args, **kwargs)

        monkeypatch.setattr("gitops_bg.agent.operate.primary.content_of", changed_meanwhile)
        cli("promote", str(web.key), "--full", "-m", "hurry", code=4)
        web.scenario.wait_idle()
    assert (web.live_tag(), web.record.operator.promote_full, waiting(web)) == ("v1", None, ())


def waiting(web: App) -> tuple[Request, ...]:
    return requests_of((web.object()["metadata"].get("annotations") or {}).get(names.REQUEST, ""))


def overwrite(web: App, request: Request) -> None:
    """What `kubectl annotate` does: it knows of no other requests."""
    path = f"{collection(names.API_VERSION, names.KIND, web.key.namespace)}/{web.name}"
    web.scenario.cluster.patch(path, {"metadata": {"annotations": {names.REQUEST: annotation_of([request])}}})


def ask_and_wait(web: App, verb: OperatorCommand) -> None:
    request = new_request(verb, "ada", "v3 is bad")
    web.ask(request)
    web.wait(lambda: web.record.operator.has_answered(request.id), "the colleague is answered")

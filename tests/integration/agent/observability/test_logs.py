"""Logs: one line per decision, for machines or people; no input can forge a line, and no line has a secret."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_bg.agent import logs
from gitops_bg.agent.logs import configure, fields, forget_secrets, log_uncaught, mask, masked
from gitops_bg.agent.reconcile.event_recorder import log_decision
from gitops_bg.core.groups.model import TransitionStep
from gitops_bg.core.groups.record import (
    ApplyRoute,
    DeleteRoute,
    GroupDecision,
    GroupRecord,
    Move,
    Transition,
    TransitionKind,
)
from gitops_bg.core.model.actions import SwitchTraffic
from gitops_bg.core.model.auxiliary import HttpRoute
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.drift import ActionResult, Change, ChangeSet, ChangeSetEntry
from gitops_bg.core.model.record import Record, Routing, Switch, SwitchKind
from gitops_bg.core.model.version import AppKey, GroupKey

AT = datetime(2026, 3, 1, tzinfo=UTC)
WEB, STORE = AppKey("shop", "web"), GroupKey("shop", "store")
DIGEST = "v1:" + "3f9c012345" * 6 + "abcd"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
log = logging.getLogger("gitops_bg.tests")


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    """Where the logs go; afterwards logging is as it was."""
    root, ours = logging.getLogger(), logging.getLogger(logs.ROOT)
    levels = (root.level, ours.level)
    yield io.StringIO()
    root.handlers = [handler for handler in root.handlers if not is_ours(handler)]
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    forget_secrets()


def is_ours(handler: logging.Handler) -> bool:
    """Whether `configure` made this handler; pytest has some too."""
    return type(handler).__module__ == logs.__name__


def without_pytest() -> None:
    """Take away pytest's handlers for the rest of a test: they raise on a log call with wrong arguments."""
    root = logging.getLogger()
    root.handlers = list(filter(is_ours, root.handlers))


@pytest.fixture
def as_json(out: io.StringIO) -> io.StringIO:
    configure("json", "debug", out)
    return out


@pytest.fixture
def as_text(out: io.StringIO) -> io.StringIO:
    configure("text", "debug", out)
    return out


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    """The JSON lines so far."""
    return [json.loads(line) for line in out.getvalue().splitlines()]


def raised(message: str) -> None:
    """Log an exception with this message and a cause with the same."""
    error = RuntimeError(f"again: {message}")
    error.__cause__ = ValueError(message)
    log.error("it failed", exc_info=error)


def test_a_json_line_has_time_level_sentence_and_fields(as_json: io.StringIO) -> None:
    log.info("moved %s", "it", extra=fields(app=WEB, rollout=3, digest=DIGEST, commit=COMMIT, seconds=0.25))
    (line,) = lines(as_json)
    when = line.pop("ts")
    assert datetime.strptime(when, "%Y-%m-%dT%H:%M:%S.%fZ").year >= 2026
    assert line == {
        "level": "info",
        "logger": "gitops_bg.tests",
        "msg": "moved it",
        "app": "shop/web",
        "rollout": 3,
        "digest": DIGEST,
        "commit": COMMIT,
        "seconds": 0.25,
    }


def test_a_text_line_is_for_people(as_text: io.StringIO) -> None:
    log.warning("held", extra=fields(app=WEB, rollout=3, digest=DIGEST, commit=COMMIT, actions=["A", "B"]))
    when, _, rest = as_text.getvalue().partition(" ")
    assert when.endswith("Z")
    assert rest == "WARNING [shop/web] held  (rollout=3 digest=3f9c012345 commit=0123456789 actions=A,B)\n"


def test_fields_that_say_nothing_are_left_out(as_json: io.StringIO) -> None:
    log.info("x", extra=fields(app=None, digest="", commit=None, count=0))
    assert set(lines(as_json)[0]) == {"ts", "level", "logger", "msg", "count"}


def test_fields_cannot_pose_as_the_line_itself(as_json: io.StringIO) -> None:
    log.info("true", extra=fields(msg="false", level="critical", ts="never"))
    (line,) = lines(as_json)
    assert (line["msg"], line["level"]) == ("true", "info")


def test_fields_of_every_kind_can_be_written(as_json: io.StringIO) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    log.info("x", extra=fields(at=noon, phase=Phase.HELD, apps=[WEB], deep={"k": (1, None)}, odd=object))
    (line,) = lines(as_json)
    assert (line["at"], line["phase"], line["apps"]) == ("2026-03-01T12:00:00.000Z", "Held", ["shop/web"])
    assert line["deep"] == {"k": [1, None]}


@pytest.mark.parametrize("text", ["two\nlines", "carriage\rreturn", "\x1b[2Jterminal", "paragraph\u2029separator"])
@pytest.mark.parametrize("format", ["json", "text"])
def test_nobody_forges_a_line(out: io.StringIO, format: str, text: str) -> None:
    configure(format, "info", out)  # type: ignore[arg-type]
    log.info("by %s", text, extra=fields(reason=text))
    assert out.getvalue().count("\n") == 1
    assert "\x1b" not in out.getvalue()
    assert "\r" not in out.getvalue()


def test_a_traceback_is_a_field_or_indented_lines(out: io.StringIO) -> None:
    configure("json", "info", out)
    raised("boom")
    configure("text", "info", out)
    raised("boom")
    first, *rest = out.getvalue().splitlines()
    assert "RuntimeError: again: boom" in json.loads(first)["error"]
    assert all(line.startswith("    ") for line in rest[1:])
    assert rest[-1] == "    RuntimeError: again: boom"


def decision(*actions: SwitchTraffic) -> Decision:
    """A decision that carries these out."""
    switch = Switch("", DIGEST, SwitchKind.PROMOTION, datetime(2026, 3, 1, tzinfo=UTC)) if actions else None
    record = Record(
        rollout=4,
        routing=Routing(traffic="v1:old", switch=switch),
    )
    return Decision(actions, record, Phase.PROMOTING, wake_at=datetime(2026, 3, 1, 12, tzinfo=UTC))


CONFIGURED = ChangeSetEntry("Service", "shop", "web", Change.CONFIGURED)
SWITCH = SwitchTraffic("web", (), 1, "v1:old", 2, DIGEST, SwitchKind.PROMOTION, 1)


def test_a_decision_is_one_line_with_app_rollout_digest_and_commit(as_json: io.StringIO) -> None:
    log_decision(WEB, decision(SWITCH, SWITCH), COMMIT)
    (line,) = lines(as_json)
    assert line["msg"] == f"{SWITCH}; {SWITCH}"
    assert (line["app"], line["rollout"], line["digest"], line["commit"]) == ("shop/web", 4, DIGEST, COMMIT)
    assert (line["phase"], line["actions"]) == ("Promoting", ["SwitchTraffic", "SwitchTraffic"])
    assert (line["level"], line["wake_at"]) == ("info", "2026-03-01T12:00:00.000Z")


def test_the_line_of_a_decision_says_what_was_written_and_what_was_refused(as_json: io.StringIO) -> None:
    wrote = ActionResult(SWITCH, (CONFIGURED,))
    log_decision(WEB, decision(SWITCH), COMMIT, ChangeSet((wrote, ActionResult(SWITCH, refused="no rights"))))
    (line,) = lines(as_json)
    assert (line["changes"], line["refused"]) == (["Service/shop/web configured"], ["SwitchTraffic"])


def test_a_way_back_is_a_warning_on_a_line_of_its_own_before_what_else_is_done(as_json: io.StringIO) -> None:
    back = replace(SWITCH, switch_kind=SwitchKind.ROLLBACK)
    switched, applied = ActionResult(back, (CONFIGURED,)), ActionResult(SWITCH, refused="no rights")
    log_decision(WEB, decision(back, SWITCH), COMMIT, ChangeSet((switched, applied)))
    first, second = lines(as_json)
    assert (first["level"], first["msg"], first["actions"]) == ("warning", str(back), ["SwitchTraffic"])
    assert (first["changes"], "refused" in first) == (["Service/shop/web configured"], False)
    assert (second["level"], second["msg"], second["refused"]) == ("info", str(SWITCH), ["SwitchTraffic"])


def test_the_routes_of_a_group_that_goes_back_are_such_a_line_and_its_other_actions_are_not(
    as_json: io.StringIO,
) -> None:
    moves = frozenset({Move(frozenset({"cart-v2"}), frozenset({"cart-v1"}))})
    back, other = ApplyRoute(HttpRoute("store", (), (), ()), moves), DeleteRoute("old")
    moving = Transition(TransitionKind.ROLLBACK, "v2", "v1", TransitionStep.SWITCH, AT, AT)
    record = GroupRecord(transition=moving)
    log_decision(STORE, GroupDecision((back, other), record, Phase.ROLLING_BACK), COMMIT)
    told = [(line["logger"], line["level"], line["msg"]) for line in lines(as_json)]
    assert told == [("gitops_bg.group", "warning", str(back)), ("gitops_bg.group", "info", str(other))]


def test_a_line_has_the_logger_of_what_it_is_about(as_json: io.StringIO) -> None:
    log_decision(WEB, decision(SWITCH), COMMIT)
    assert lines(as_json)[0]["logger"] == "gitops_bg.app"


def test_a_decision_to_do_nothing_is_no_line_at_info(out: io.StringIO) -> None:
    configure("json", "info", out)
    log_decision(WEB, decision(), COMMIT)
    assert out.getvalue() == ""
    configure("json", "debug", out)
    log_decision(WEB, decision(), COMMIT)
    assert [(line["msg"], line["digest"]) for line in lines(out)] == [("nothing to do", "v1:old")]


@pytest.mark.parametrize("format", ["json", "text"])
def test_a_secret_never_shows_wherever_it_is(out: io.StringIO, format: str) -> None:
    configure(format, "debug", out)  # type: ignore[arg-type]
    secret = 'hunter2 "quoted" \\ é/+'
    mask(secret)
    log.info("in the message: " + secret)
    log.info("in %s and %r", secret, secret)
    log.info("in fields", extra=fields(reason=secret, deep={secret: [secret]}, error_object=ValueError(secret)))
    log.info("in a URL", extra=fields(url="https://x:hunter2%20%22quoted%22%20%5C%20%C3%A9%2F%2B@example.org"))
    log.info("in JSON: %s", json.dumps({"token": secret}))
    log.info("with a stack", stack_info=True)
    raised(secret)
    without_pytest()
    too_many = "%s %s"
    log.info(too_many, secret)
    log.info("%d", secret)
    assert "hunter2" not in out.getvalue()
    assert out.getvalue().count("***") >= 10


def test_a_secret_in_the_logs_of_other_libraries_is_masked_too(as_json: io.StringIO) -> None:
    mask(b"hunter2\n")
    logging.getLogger("urllib3").warning("retry x:hunter2@example.org")
    logging.getLogger("kubernetes.client.rest").debug("response body: everything")
    assert [line["msg"] for line in lines(as_json)] == ["retry x:***@example.org"]


def test_each_line_of_a_key_is_masked() -> None:
    mask("-----BEGIN KEY-----\nb3BlbnNzaC1rZXk\nAAAAB3NzaC1yc2E\n-----END KEY-----\n")
    try:
        assert masked("line 2 is b3BlbnNzaC1rZXk.") == "line 2 is ***."
    finally:
        forget_secrets()


def test_the_longer_secret_wins_and_empty_ones_are_ignored() -> None:
    for secret in ("", b"", " \n", "hunter", "hunter2"):
        mask(secret)
    try:
        assert masked("hunter2, hunter, nobody") == "***, ***, nobody"
    finally:
        forget_secrets()


@given(st.text(min_size=4).filter(lambda text: text.strip() and text.strip() not in "***"), st.text(), st.text())
def test_no_text_around_a_secret_lets_it_through(secret: str, before: str, after: str) -> None:
    mask(secret)
    try:
        assert secret.strip() not in masked(f"{before}{secret}{after}").replace("***", "")
    finally:
        forget_secrets()


def test_a_log_call_with_wrong_arguments_keeps_its_line(
    as_json: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    without_pytest()
    log.info("%d apps", "many")
    assert lines(as_json)[0]["msg"] == "%d apps (the arguments of this log call do not fit)"
    assert capsys.readouterr() == ("", "")


def test_a_broken_stream_ends_nobody_and_shows_nothing(out: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    configure("json", "info", out)
    mask("hunter2")
    out.close()
    log.info("%s", "hunter2")
    assert capsys.readouterr() == ("", "")


def test_configuring_again_replaces_the_first(out: io.StringIO) -> None:
    first = io.StringIO()
    configure("text", "info", first)
    configure("json", "WARNING", out)
    log.info("quiet")
    log.warning("loud")
    assert first.getvalue() == ""
    assert [line["msg"] for line in lines(out)] == ["loud"]


@pytest.mark.parametrize(("format", "level"), [("xml", "info"), ("json", "chatty")])
def test_an_unknown_format_or_level_is_refused(out: io.StringIO, format: str, level: str) -> None:
    with pytest.raises(ValueError, match=r"xml|CHATTY"):
        configure(format, level, out)  # type: ignore[arg-type]


def test_uncaught_exceptions_end_in_the_log_masked(as_json: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    mask("hunter2")
    log_uncaught()
    thread = threading.Thread(target=lambda: int("hunter2"), name="worker-1")
    thread.start()
    thread.join()
    sys.excepthook(ValueError, ValueError("hunter2"), None)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    in_thread, in_main = lines(as_json)
    assert (in_thread["level"], in_thread["thread"]) == ("critical", "worker-1")
    assert "ValueError: invalid literal" in in_thread["error"]
    assert "ValueError: ***" in in_main["error"]
    assert "hunter2" not in as_json.getvalue()

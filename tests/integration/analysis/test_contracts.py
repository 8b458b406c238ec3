"""Every provider against a real HTTP server that speaks its backend's documented format.

Good is good, bad is bad, nothing is inconclusive, and a backend in trouble is an error: never anything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementResult
from tests.integration.analysis.measured import measured
from tests.integration.analysis.speakers import KEY, SPEAKERS, Speaker
from tests.support.cluster.pki import Authority
from tests.support.servers.backend import HANG, TRICKLE, Backend, Reply, serving


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving() as server:
        yield server


def ask(name: str, backend: Backend, success: str = "", failure: str = "", **more: Any) -> MeasurementResult:
    provider, speaker = SPEAKERS[name]
    block = speaker.block(backend.url) | more
    return measured(provider, block, speaker.secrets, success=success, failure=failure)


def speaker_of(name: str) -> Speaker:
    return SPEAKERS[name][1]


NUMBER = {
    "prometheus": "result[0]",
    "graphite": "result[0]",
    "influxdb": "result[0]",
    "newRelic": "result.rate",
    "cloudWatch": "result[0].Values[0]",
}


@pytest.mark.parametrize("name", SPEAKERS)
def test_a_value_is_what_the_conditions_say_of_it(name: str, backend: Backend) -> None:
    speaker, number = speaker_of(name), NUMBER.get(name, "result")
    backend.answer = speaker.answering(speaker.value(0.25))
    good = ask(name, backend, success=f"{number} < 0.3")
    assert good.phase is AnalysisPhase.SUCCESSFUL, good.message
    assert good.value.rstrip("…") == json.dumps(speaker.result(0.25))[: len(good.value.rstrip("…"))] != ""
    assert ask(name, backend, success=f"{number} < 0.2").phase is AnalysisPhase.FAILED
    assert ask(name, backend, failure=f"{number} > 0.2").phase is AnalysisPhase.FAILED
    assert ask(name, backend, failure=f"{number} > 0.3").phase is AnalysisPhase.SUCCESSFUL
    assert ask(name, backend, success=f"{number} < 0.2", failure=f"{number} > 0.3").phase is AnalysisPhase.INCONCLUSIVE


NOTHING = [(name, case) for name, (_, speaker) in SPEAKERS.items() for case in speaker.nothing]


@pytest.mark.parametrize(("name", "case"), NOTHING)
def test_no_data_is_inconclusive_whatever_the_conditions(name: str, case: str, backend: Backend) -> None:
    backend.answer = speaker_of(name).answering(speaker_of(name).nothing[case])
    for conditions in ({}, {"success": "true"}, {"failure": "true"}):
        found = ask(name, backend, **conditions)
        assert (found.phase, found.value) == (AnalysisPhase.INCONCLUSIVE, ""), found.message
        assert found.message.startswith("no data: ")


ERRORS = [(name, case) for name, (_, speaker) in SPEAKERS.items() for case in speaker.errors]


@pytest.mark.parametrize(("name", "case"), ERRORS)
def test_what_the_backend_complains_of_is_an_error(name: str, case: str, backend: Backend) -> None:
    reply = speaker_of(name).errors[case]
    backend.answer = lambda _: reply
    found = ask(name, backend, success="true")
    assert (found.phase, found.value) == (AnalysisPhase.ERROR, "")
    assert found.message


TROUBLES = {
    "500": Reply(b"upstream connect error", 500),
    "404": Reply(b"not here", 404),
    "a page": Reply(b"<html>Sign in</html>"),
    "garbage": Reply(bytes(range(256))),
    "another JSON": Reply({"hello": "world"}),
    "a list": Reply([[["hello"]]]),
    "text": Reply("hello"),
    "too much": Reply(b'"' + b"x" * 1_100_000 + b'"'),
    "a compressed answer": Reply(b"\x1f\x8b", headers={"Content-Encoding": "gzip"}),
    "a redirect elsewhere": Reply(status=302, headers={"Location": "http://metrics.invalid/"}),
    "a redirect in circles": Reply(status=307, headers={"Location": "/round"}),
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", SPEAKERS)
def test_nonsense_and_troubles_are_errors(name: str, trouble: str, backend: Backend) -> None:
    backend.answer = lambda _: TROUBLES[trouble]
    found = ask(name, backend, success="true", failure="true")
    nothing_there = name == "web" and trouble in ("another JSON", "a list", "text")
    assert found.phase is (AnalysisPhase.INCONCLUSIVE if nothing_there else AnalysisPhase.ERROR), found
    assert found.message
    assert len(found.message) <= 200
    assert len(backend.asked) <= 4


@pytest.mark.parametrize("name", SPEAKERS)
def test_a_backend_that_does_not_answer_in_time_is_an_error(name: str, backend: Backend) -> None:
    backend.answer = lambda _: HANG
    found = ask(name, backend, **speaker_of(name).hasty)
    assert found.phase is AnalysisPhase.ERROR
    assert "did not answer in time" in found.message


def test_an_answer_that_never_ends_is_an_error(backend: Backend) -> None:
    backend.answer = lambda _: TRICKLE
    found = ask("datadog v1", backend, **speaker_of("datadog v1").hasty)
    assert found.phase is AnalysisPhase.ERROR
    assert "did not end its answer in time" in found.message


@pytest.mark.parametrize("name", SPEAKERS)
def test_a_backend_that_is_down_is_an_error(name: str, backend: Backend) -> None:
    backend.close()
    found = ask(name, backend)
    assert found.phase is AnalysisPhase.ERROR
    assert "cannot be asked" in found.message


@pytest.mark.parametrize("name", SPEAKERS)
def test_wrong_credentials_are_an_error_that_does_not_tell_them(name: str, backend: Backend) -> None:
    provider, speaker = SPEAKERS[name]
    wrong = {secret: dict.fromkeys(data, "99887766554433") for secret, data in speaker.secrets.items()}
    good = speaker.answering(speaker.value(0.25))

    def answer(asked: object) -> Reply:
        reply = good(asked)  # type: ignore[arg-type]
        return Reply({"message": "you said 99887766554433"}, reply.status) if reply is speaker.refusal else reply

    backend.answer = answer
    found = measured(provider, speaker.block(backend.url), wrong)
    assert found.phase is AnalysisPhase.ERROR
    assert "you said ***" in found.message


@pytest.mark.parametrize("name", SPEAKERS)
def test_a_secret_is_in_nothing_that_is_told(name: str, backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
    backend.answer = lambda asked: Reply({"you": str(asked.headers), "and": asked.body.decode()}, 500)
    assert KEY not in str(ask(name, backend))
    backend.answer = lambda asked: Reply(f"you: {asked.headers} {asked.query}".encode())
    assert KEY not in str(ask(name, backend))
    assert KEY not in caplog.text


@pytest.mark.parametrize("name", SPEAKERS)
def test_a_missing_secret_is_an_error_that_names_it(name: str, backend: Backend) -> None:
    provider, speaker = SPEAKERS[name]
    found = measured(provider, speaker.block(backend.url), {})
    assert found.phase is AnalysisPhase.ERROR
    assert f"shop/{next(iter(speaker.secrets))}" in found.message
    empty = measured(provider, speaker.block(backend.url), {name: {} for name in speaker.secrets})
    assert empty.phase is AnalysisPhase.ERROR
    assert "has no key" in empty.message
    assert backend.asked == []


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"))


@pytest.mark.parametrize("name", SPEAKERS)
def test_certificates_are_verified(name: str, authority: Authority) -> None:
    provider, speaker = SPEAKERS[name]
    with serving(authority.server(f"metrics-{SPEAKERS[name][0]}", "127.0.0.1")) as backend:
        backend.answer = speaker.answering(speaker.value(0.25))
        block = speaker.block(backend.url)
        stranger = measured(provider, block, speaker.secrets)
        assert stranger.phase is AnalysisPhase.ERROR
        assert "certificate" in stranger.message.lower()
        assert backend.asked == []
        known = {**block, "caCert": Path(authority.certificate).read_text()}
        assert measured(provider, known, speaker.secrets).phase is AnalysisPhase.SUCCESSFUL
        assert measured(provider, {**block, "insecure": True}, speaker.secrets).phase is AnalysisPhase.SUCCESSFUL
        broken = measured(provider, {**block, "caCert": "no PEM"}, speaker.secrets)
        assert broken.phase is AnalysisPhase.ERROR

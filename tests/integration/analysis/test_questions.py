"""The requests of providers: the documented parameters, the credentials, and the permitted hosts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase
from tests.integration.analysis.measured import NOW, measured
from tests.integration.analysis.speakers import (
    CLOUD_WATCH,
    DATADOG,
    DATADOG_V2,
    GRAPHITE,
    INFLUXDB,
    KEY,
    NEW_RELIC,
    matrix,
    results,
    rows,
    scalar,
    scalars,
    table,
    vector,
)
from tests.support.servers.backend import Asked, Backend, Reply, serving
from tests.support.servers.banner import speaking

UNTIL = NOW.timestamp()


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving() as server:
        yield server


# --- Prometheus ---


def prometheus(backend: Backend, **more: Any) -> dict[str, Any]:
    return {"address": f"{backend.url}/prefix/", "query": "up", **more}


def test_an_instant_query_is_asked_for_now(backend: Backend) -> None:
    backend.says(vector("1", "2.5", "+Inf"))
    found = measured("prometheus", prometheus(backend, headers=[{"name": "X-Scope-OrgID", "value": "a"}]))
    assert found.value == "[1.0, 2.5, Infinity]"
    assert backend.asked[0].path == "/prefix/api/v1/query"
    assert backend.asked[0].query == {"query": "up", "time": str(UNTIL)}
    assert backend.asked[0].headers["x-scope-orgid"] == "a"


def test_a_scalar_is_a_number(backend: Backend) -> None:
    backend.says(scalar("0.5"))
    assert measured("prometheus", prometheus(backend), success="result == 0.5").phase is AnalysisPhase.SUCCESSFUL
    backend.says(scalar("NaN"))
    assert measured("prometheus", prometheus(backend), success="true").phase is AnalysisPhase.INCONCLUSIVE


def test_a_range_query_asks_from_start_to_end_and_leaves_gaps_out(backend: Backend) -> None:
    backend.says(matrix(["1", "NaN", "3"], ["4"]))
    window = {"start": 'now() - duration("10m")', "end": "now - 1m", "step": "30s"}
    found = measured("prometheus", prometheus(backend, rangeQuery=window), success="result[0].all(each, each > 0.0)")
    assert (found.phase, found.value) == (AnalysisPhase.SUCCESSFUL, "[[1.0, 3.0], [4.0]]")
    assert backend.asked[0].path == "/prefix/api/v1/query_range"
    window_asked = {key: float(value) for key, value in backend.asked[0].query.items() if key != "query"}
    assert window_asked == {"start": UNTIL - 600, "end": UNTIL - 60, "step": 30}


@pytest.mark.parametrize("series", [(), (["NaN"],), (["1"], [])], ids=["no series", "only NaN", "a series is empty"])
def test_a_range_without_points_is_no_data(series: tuple[list[str], ...], backend: Backend) -> None:
    backend.says(matrix(*series))
    window = {"start": "now - 5m", "step": "30s"}
    found = measured("prometheus", prometheus(backend, rangeQuery=window), success="true")
    assert found.phase is AnalysisPhase.INCONCLUSIVE


def test_a_token_is_fetched_with_the_credentials_of_the_client(backend: Backend) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path == "/token":
            assert asked.body == b"grant_type=client_credentials&scope=read+all"
            assert asked.headers["authorization"] == "Basic d2ViOmszeS0xMjM="
            return Reply({"access_token": "t0k3n-456", "token_type": "Bearer"})
        return Reply(vector("1")) if asked.headers["authorization"] == "Bearer t0k3n-456" else Reply(str(asked), 401)

    backend.answer = answer
    client = {
        "tokenUrl": f"{backend.url}/token",
        "clientId": "web",
        "clientSecret": "{{secret:oauth/key}}",
        "scopes": ["read", "all"],
    }
    block = prometheus(backend, authentication={"oauth2": client})
    assert measured("prometheus", block, {"oauth": {"key": "k3y-123\n"}}).phase is AnalysisPhase.SUCCESSFUL
    backend.answer = lambda asked: Reply({"error": "invalid_client"}, 401)
    assert measured("prometheus", block, {"oauth": {"key": "k3y-123"}}).phase is AnalysisPhase.ERROR
    backend.answer = lambda asked: (
        Reply({"access_token": "t0k3n-456"})
        if asked.path == "/token"
        else Reply({"told": asked.headers["authorization"]}, 500)
    )
    assert "t0k3n" not in measured("prometheus", block, {"oauth": {"key": "k3y-123"}}).message


# --- web ---


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_body_is_sent_as_written(method: str, backend: Backend) -> None:
    backend.says({"ok": True})
    written = {"url": backend.url, "method": method, "jsonBody": {"of": ["{{secret:metrics/token}}"]}}
    assert measured("web", written, {"metrics": {"token": KEY}}, success="result.ok").phase is AnalysisPhase.SUCCESSFUL
    assert (backend.asked[0].method, backend.asked[0].json()) == (method, {"of": [KEY]})
    assert backend.asked[0].headers["content-type"] == "application/json"
    plain = {"url": backend.url, "method": method, "body": "of=web"}
    assert measured("web", plain, success="result.ok").phase is AnalysisPhase.SUCCESSFUL
    assert backend.asked[1].body == b"of=web"


def test_without_a_path_the_condition_is_over_the_whole_body(backend: Backend) -> None:
    backend.says({"data": {"ok": True, "rate": 0.95}, "alerts": []})
    condition = "result.data.ok && result.data.rate >= 0.9 && size(result.alerts) == 0"
    assert measured("web", {"url": backend.url}, success=condition).phase is AnalysisPhase.SUCCESSFUL


def test_a_field_that_is_missing_is_no_data(backend: Backend) -> None:
    backend.says({"data": {"ok": True, "rate": None}})
    assert measured("web", {"url": backend.url}, success="result.data.rating > 1").phase is AnalysisPhase.INCONCLUSIVE
    assert measured("web", {"url": backend.url}, success="result.data.rate > 1").phase is AnalysisPhase.INCONCLUSIVE
    backend.says({"data": {"ok": True}})
    assert measured("web", {"url": backend.url}, success="result.data.ok > 1").phase is AnalysisPhase.ERROR


def test_a_path_that_finds_several_gives_a_list(backend: Backend) -> None:
    backend.says({"pods": [{"errors": 0}, {"errors": 2}]})
    block = {"url": backend.url, "jsonPath": "{$.pods[*].errors}"}
    assert measured("web", block, success="result.all(each, each < 3)").value == "[0, 2]"


def test_a_redirect_is_followed_on_the_same_host_only(backend: Backend) -> None:
    with serving() as elsewhere:
        elsewhere.says({"ok": True})
        moved = {"/": f"{backend.url}/here", "/there": elsewhere.url}
        backend.answer = lambda asked: (
            Reply(status=302, headers={"Location": moved[asked.path]}) if asked.path in moved else Reply({"ok": True})
        )
        headers = [{"key": "Authorization", "value": "Bearer x"}]
        assert measured("web", {"url": f"{backend.url}/", "headers": headers}).phase is AnalysisPhase.SUCCESSFUL
        assert backend.asked[1].headers["authorization"] == "Bearer x"
        found = measured("web", {"url": f"{backend.url}/there", "headers": headers})
        assert found.phase is AnalysisPhase.ERROR
        assert f"redirects to {elsewhere.url}" in found.message
        assert elsewhere.asked == []


def test_what_a_filled_in_secret_breaks_is_said_without_it(backend: Backend) -> None:
    found = measured("web", {"url": "{{secret:metrics/url}}"}, {"metrics": {"url": "ftp://hidden.example"}})
    assert found.phase is AnalysisPhase.ERROR
    assert "url: must be an address" in found.message
    assert "hidden" not in found.message


# --- the others ---


def test_datadog_is_asked_for_the_interval(backend: Backend) -> None:
    backend.says(DATADOG.value(1))
    measured("datadog", {**DATADOG.block(backend.url), "interval": "10m"}, DATADOG.secrets)
    asked = backend.asked[0]
    assert asked.query == {"query": "avg:errors{service:web}", "from": str(int(UNTIL - 600)), "to": str(int(UNTIL))}
    assert asked.headers["dd-application-key"] == "app-" + KEY


def test_the_address_of_datadog_may_be_in_its_secret(backend: Backend) -> None:
    backend.says(DATADOG.value(1))
    secret = {"own": {**DATADOG.secrets["datadog"], "address": backend.url}}
    assert measured("datadog", {"query": "q", "secretRef": {"name": "own"}}, secret).phase is AnalysisPhase.SUCCESSFUL


def test_datadog_v2_makes_one_value_of_several_queries(backend: Backend) -> None:
    backend.says(scalars(0.5, 0.75))
    queries = {"a": "sum:errors{*}", "b": "sum:requests{*}"}
    block = {"address": backend.url, "apiVersion": "v2", "queries": queries, "formula": "a / b", "aggregator": "sum"}
    assert measured("datadog", block, DATADOG_V2.secrets).value == "[0.5, 0.75]"
    question = backend.asked[0].json()["data"]
    assert question["type"] == "scalar_request"
    assert question["attributes"] == {
        "from": int(UNTIL - 300) * 1000,
        "to": int(UNTIL) * 1000,
        "queries": [
            {"aggregator": "sum", "data_source": "metrics", "name": name, "query": query}
            for name, query in queries.items()
        ],
        "formulas": [{"formula": "a / b"}],
    }


def test_cloudwatch_is_asked_as_its_model_says(backend: Backend) -> None:
    backend.says(results([0.1]))
    measured("cloudWatch", CLOUD_WATCH.block(backend.url), CLOUD_WATCH.secrets)
    asked = backend.asked[0]
    assert asked.headers["x-amz-target"] == "GraniteServiceVersion20100801.GetMetricData"
    assert asked.headers["content-type"] == "application/x-amz-json-1.0"
    assert asked.json() == {
        "StartTime": int(UNTIL) - 300,
        "EndTime": int(UNTIL),
        "MetricDataQueries": [
            {"Id": "rate", "Expression": "errors / requests"},
            {
                "Id": "errors",
                "MetricStat": {
                    "Metric": {
                        "Namespace": "app",
                        "MetricName": "errors",
                        "Dimensions": [{"Name": "pod", "Value": "web"}],
                    },
                    "Period": 300,
                    "Stat": "Sum",
                },
                "ReturnData": False,
            },
        ],
    }


@pytest.fixture
def no_aws(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION", "DEFAULT_REGION"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("WEB_IDENTITY_TOKEN_FILE", "CONTAINER_CREDENTIALS_FULL_URI"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    return monkeypatch


def cloud_watch(backend: Backend) -> dict[str, Any]:
    block = CLOUD_WATCH.block(backend.url)
    return {key: value for key, value in block.items() if key not in ("secretRef", "region")}


def test_without_aws_credentials_or_region_the_error_says_what_to_do(
    backend: Backend, no_aws: pytest.MonkeyPatch
) -> None:
    assert "set AWS_REGION" in measured("cloudWatch", cloud_watch(backend)).message
    no_aws.setenv("AWS_REGION", "eu-central-1")
    assert "give its ServiceAccount a role" in measured("cloudWatch", cloud_watch(backend)).message


def test_the_agents_own_aws_credentials_are_found_where_aws_puts_them(
    backend: Backend, no_aws: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    no_aws.setenv("AWS_REGION", "eu-central-1")
    token = tmp_path / "token"
    token.write_text("j.w.t\n")

    def answer(asked: Asked) -> Reply:
        if asked.path == "/sts":
            assert b"Action=AssumeRoleWithWebIdentity" in asked.body
            assert b"WebIdentityToken=j.w.t" in asked.body
            keys = "<AccessKeyId>STS</AccessKeyId><SecretAccessKey>sts-secret</SecretAccessKey>"
            return Reply(f"<A>{keys}<SessionToken>sts-token</SessionToken></A>".encode())
        if asked.path == "/pod":
            assert asked.headers["authorization"] == "j.w.t"
            return Reply({"AccessKeyId": "POD", "SecretAccessKey": "pod-secret", "Token": "pod-token"})
        who = asked.headers["authorization"].partition("Credential=")[2].partition("/")[0]
        return Reply({"message": f"{who} {asked.headers.get('x-amz-security-token', '')}"}, 400)

    backend.answer = answer
    no_aws.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{backend.url}/pod")
    no_aws.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(token))
    assert "POD ***" in measured("cloudWatch", cloud_watch(backend)).message
    no_aws.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    no_aws.setenv("AWS_ENDPOINT_URL_STS", f"{backend.url}/sts")
    assert "STS ***" in measured("cloudWatch", cloud_watch(backend)).message
    no_aws.setenv("AWS_ACCESS_KEY_ID", "ENV")
    no_aws.setenv("AWS_SECRET_ACCESS_KEY", "env-secret")
    assert ": ENV" in measured("cloudWatch", cloud_watch(backend)).message


def test_new_relic_is_asked_for_the_account_of_the_secret(backend: Backend) -> None:
    backend.says(rows({"a": 1}, {"a": 2}))
    found = measured("newRelic", NEW_RELIC.block(backend.url), NEW_RELIC.secrets, success="result[1].a == 2")
    assert found.phase is AnalysisPhase.SUCCESSFUL
    assert backend.asked[0].json()["variables"] == {"id": 42, "nrql": "FROM Transaction SELECT average(x) AS rate"}
    wrong = {"newrelic": {"personal-api-key": KEY, "account-id": "mine"}}
    assert "account-id" in measured("newRelic", NEW_RELIC.block(backend.url), wrong).message


def test_graphite_is_asked_for_json_whatever_is_written(backend: Backend) -> None:
    backend.says(GRAPHITE.value(1))
    block = {"address": backend.url, "query": "target=a(\n  b)&from=-1h&format=png"}
    assert measured("graphite", block).phase is AnalysisPhase.SUCCESSFUL
    assert backend.asked[0].query == {"target": "a( b)", "from": "-1h", "format": "json"}


def test_influxdb_values_have_their_type(backend: Backend) -> None:
    backend.says(table("7", kind="long") + table("true", kind="boolean") + table("ok", kind="string"))
    found = measured("influxdb", INFLUXDB.block(backend.url), INFLUXDB.secrets)
    assert json.loads(found.value) == [7.0, True, "ok"]
    assert backend.asked[0].query == {"org": "shop"}
    assert backend.asked[0].json()["query"] == 'from(bucket: "b")'


def test_prometheus_on_aws_is_asked_with_a_signature(backend: Backend, no_aws: pytest.MonkeyPatch) -> None:
    no_aws.setenv("AWS_ACCESS_KEY_ID", "ENV")
    no_aws.setenv("AWS_SECRET_ACCESS_KEY", "env-secret")
    backend.says(vector("1"))
    block = {**prometheus(backend), "query": "a + b", "authentication": {"sigv4": {"region": "eu-central-1"}}}
    assert measured("prometheus", block).phase is AnalysisPhase.SUCCESSFUL
    authorization = backend.asked[0].headers["authorization"]
    assert "Credential=ENV/20261121/eu-central-1/aps/aws4_request, SignedHeaders=host;x-amz-date" in authorization
    assert len(authorization.rpartition("Signature=")[2]) == len(hashlib.sha256().hexdigest())
    assert "query=a%20%2B%20b&" in backend.asked[0].target


# --- secrets in what backends answer ---

TOKEN = "0123456789abcdefghijklmnopqrstuvwxyz-S3CR3T"
ECHOES = {
    "where a quotation ends": ({"message": "x" * 90 + TOKEN}, 503),
    "where what is kept of it ends": ({"message": "x" * (16 * 1024 - 10) + TOKEN}, 503),
    "many times over": ({"message": TOKEN * 2000}, 503),
    "in what is no JSON": (TOKEN.encode(), 200),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_a_secret_that_a_backend_repeats_is_hidden_also_where_texts_are_cut(backend: Backend, echo: str) -> None:
    body, status = ECHOES[echo]
    backend.says(body, status)
    asked = {"url": backend.url, "authentication": {"bearer": {"token": "{{secret:metrics/token}}"}}}
    found = measured("web", asked, {"metrics": {"token": TOKEN}})
    assert found.phase is AnalysisPhase.ERROR
    assert TOKEN[:8] not in found.message


def test_a_secret_that_stands_where_a_number_belongs_is_hidden(backend: Backend) -> None:
    backend.says(vector(TOKEN * 2))
    asked = prometheus(backend, authentication={"bearer": {"token": "{{secret:metrics/token}}"}})
    found = measured("prometheus", asked, {"metrics": {"token": TOKEN * 2}})
    assert found.phase is AnalysisPhase.ERROR
    assert TOKEN[:8] not in found.message


def test_a_secret_with_spaces_is_hidden_also_where_they_were_made_one(backend: Backend) -> None:
    backend.says({"error": "no user correct  horse  battery"}, 401)
    asked = {"url": backend.url, "headers": [{"key": "X-Password", "value": "{{secret:metrics/token}}"}]}
    found = measured("web", asked, {"metrics": {"token": "correct  horse  battery"}})
    assert found.message.endswith("answered 401 Unauthorized: no user ***")


# --- services that were not meant ---

HELD = "ida: hunter2"
PROBES: dict[str, tuple[Reply, str]] = {
    "a page": (Reply(f"<h1>{HELD}</h1>".encode(), 200, {"Content-Type": "text/html; charset=utf-8"}), "but text/html"),
    "a text": (Reply(HELD.encode(), 403, {"Content-Type": "text/plain"}), "answered 403 Forbidden"),
    "a text that says that it is JSON": (Reply(HELD.encode(), 500, {"Content-Type": "application/json"}), "500"),
    "JSON without a type": (Reply(json.dumps({"message": HELD}).encode(), 404), "answered 404 Not Found"),
    "JSON of no error": (Reply({"users": [HELD], "data": {"message": HELD}}, 409), "answered 409 Conflict"),
    "a text alone": (Reply(HELD, 400), "answered 400 Bad Request"),
    "a list": (Reply([HELD], 400), "answered 400 Bad Request"),
    "an odd type": (Reply(b"x", 200, {"Content-Type": f"text/{HELD} {HELD}"}), "what is no JSON"),
}


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("provider", ["web", "prometheus"])
def test_a_service_that_does_not_say_what_is_wrong_in_json_is_not_quoted(
    backend: Backend, provider: str, probe: str
) -> None:
    reply, said = PROBES[probe]
    backend.answer = lambda _: reply
    asked = {"url": f"{backend.url}/users"} if provider == "web" else prometheus(backend)
    found = measured(provider, asked)
    assert found.phase is AnalysisPhase.ERROR
    assert said in found.message
    assert "hunter2" not in str(found)


def test_what_a_redirect_leads_to_is_not_quoted(backend: Backend) -> None:
    """Not even on the same host: the author named another path."""
    told = Reply({"status": "error", "errorType": "bad_data", "error": HELD}, 400)
    away = Reply(status=307, headers={"Location": "/elsewhere"})
    backend.answer = lambda asked: told if asked.path == "/elsewhere" else away
    for provider, block in (("web", {"url": backend.url}), ("prometheus", prometheus(backend))):
        found = measured(provider, block)
        assert found.phase is AnalysisPhase.ERROR
        assert "hunter2" not in found.message
    backend.answer = lambda _: told
    assert HELD in measured("web", {"url": backend.url}).message


def test_a_line_of_what_is_wrong_is_quoted_and_no_more(backend: Backend) -> None:
    backend.says({"error": "bad\n\u202equery \x1b[31m" + "x" * 1000}, 422)
    words = measured("web", {"url": backend.url}).message.partition("Unprocessable ")[2].partition(": ")[2]
    assert words.startswith("bad \\u202equery \\x1b[31mxxx")
    assert len(words) == 100


def test_a_server_that_speaks_no_http_is_not_quoted() -> None:
    with speaking(b"SSH-2.0-hunter2\r\n\r\n") as url:
        found = measured("web", {"url": url})
    assert found.message.endswith("answered what is no HTTP")


def test_influxdb_says_what_is_wrong_only_in_csv(backend: Backend) -> None:
    table = f"error,reference\n{HELD},897\n".encode()
    for kind, quotes in (("text/csv; charset=utf-8", True), ("text/plain", False)):
        backend.answer = lambda _, kind=kind: Reply(table, headers={"Content-Type": kind})  # type: ignore[misc]
        found = measured("influxdb", INFLUXDB.block(backend.url), INFLUXDB.secrets)
        assert found.phase is AnalysisPhase.ERROR
        assert (HELD in found.message) is quotes

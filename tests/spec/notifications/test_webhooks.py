"""``webhooks`` of app.yaml: Flagger's fields and ours, what they come to, and every mistake with its line."""

import json
from typing import Any

import pytest

from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.spec.app.load import load_app
from tests.spec.texts import TARGET, WEB, app_with, source_of

URL = "url: http://hooks.test/"


def webhooks(*items: str) -> str:
    return app_with(blue_green="webhooks:\n" + "\n".join(f"        - {{{item}}}" for item in items))


def loaded(text: str) -> tuple[AppSpec | None, list[str]]:
    config = load_app(WEB, {"app.yaml": text.encode(), "target.yaml": TARGET.encode()}, source_of)
    return config.spec, [str(problem).removeprefix("apps/shop/web/") for problem in config.problems]


def hook_of(item: str) -> Hook:
    spec, problems = loaded(webhooks(item))
    assert problems == []
    assert spec is not None
    (hook,) = spec.strategy.hooks
    return hook


def request_of(item: str) -> dict[str, Any]:
    request: dict[str, Any] = json.loads(hook_of(item).request)
    return request


def test_flaggers_own_example_is_read_as_it_is() -> None:
    """https://docs.flagger.app/usage/webhooks"""
    metadata = 'metadata: {type: bash, cmd: "curl -sd anon http://podinfo-canary.test:9898/token"}'
    hook = hook_of(
        f"name: acceptance-test, type: pre-rollout, url: http://flagger-loadtester.test/, timeout: 30s, {metadata}"
    )
    assert (hook.name, hook.type, hook.manual, hook.failure_limit) == (
        "acceptance-test",
        HookType.PRE_ROLLOUT,
        False,
        0,
    )
    assert json.loads(hook.request) == {
        "url": "http://flagger-loadtester.test/",
        "timeout": 30.0,
        "metadata": {"type": "bash", "cmd": "curl -sd anon http://podinfo-canary.test:9898/token"},
    }


DEFAULTS = {
    "confirm-rollout": None,
    "confirm-promotion": None,
    "rollback": None,
    "pre-rollout": 600,
    "rollout": 600,
    "post-rollout": 600,
    "event": 600,
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_defaults_of_each_type(kind: str) -> None:
    hook = hook_of(f"name: a, type: {kind}, {URL}")
    request = json.dumps({"timeout": 10.0, "url": "http://hooks.test/"}, separators=(",", ":"))
    assert hook == Hook("a", HookType(kind), request, deadline=DEFAULTS[kind])


def test_type_rollout_is_the_default_as_in_flagger() -> None:
    assert hook_of(f"name: a, {URL}").type is HookType.ROLLOUT


@pytest.mark.parametrize("kind", ["confirm-rollout", "confirm-promotion"])
def test_confirm_hook_without_url_is_a_manual_gate(kind: str) -> None:
    assert hook_of(f"name: a, type: {kind}").manual


FIELDS = {
    "interval: 2m": {"interval": 120},
    "interval: 45": {"interval": 45},
    "retries: 3": {"retries": 3},
    "iterations: 10": {"iterations": 10},
    "failureLimit: 4": {"failure_limit": 4},
    "deadline: 1h": {"deadline": 3600},
    "muteAlert: true": {"mute_alert": True},
}


@pytest.mark.parametrize("written", FIELDS)
def test_each_limit(written: str) -> None:
    hook = hook_of(f"name: a, {URL}, {written}")
    for name, value in FIELDS[written].items():  # type: ignore[attr-defined]
        assert getattr(hook, name) == value


REQUESTS = {
    "timeout: 500ms": {"timeout": 0.5},
    "disableTLS: true": {"disableTLS": True},
    'headers: [{name: X-Team, value: "a"}]': {"headers": {"X-Team": "a"}},
    "headers: [{name: Authorization, valueFrom: {secretKeyRef: {name: hooks, key: token}}}]": {
        "headers": {"Authorization": "{{secret:hooks/token}}"}
    },
    'caCert: "-----BEGIN CERTIFICATE-----"': {"caCert": "-----BEGIN CERTIFICATE-----"},
}


@pytest.mark.parametrize("written", REQUESTS)
def test_each_field_of_the_request(written: str) -> None:
    assert request_of(f"name: a, {URL}, {written}").items() >= REQUESTS[written].items()  # type: ignore[attr-defined]


PLACE = "app.yaml:9: spec.strategy.blueGreen.webhooks[0]"
WRONG = {
    f"name: a, {URL}, tiemout: 5s": f"{PLACE}.tiemout: there is no such field (did you mean timeout?)",
    f"{URL}": f"{PLACE}.name: is required (add name)",
    "name: a": f"{PLACE}.url: is required for the type rollout (add it)",
    "name: a, type: rollback": f"{PLACE}.url: is required for the type rollback "
    "(add it; by hand, it is `gitops-bg abort`)",
    "name: a, url: hooks.test": f"{PLACE}.url: must be an address such as https://service.example.com",
    "name: a, url: 'ftp://hooks.test'": f"{PLACE}.url: must be an address such as https://service.example.com",
    "name: a, url: 'http://me:pw@hooks.test'": f"{PLACE}.url: must not hold a user or password: take them from a "
    "Secret, by an arg",
    "name: a, url: 'http://hooks.test/{{args.x}}'": f"{PLACE}.url: holds {{{{…}}}} that is no secret "
    "(write {{secret:NAME/KEY}})",
    f"name: a, {URL}, type: confirm-traffic-increase": f"{PLACE}.type: 'confirm-traffic-increase' is not allowed "
    "(write confirm-rollout, pre-rollout, rollout, confirm-promotion, rollback, post-rollout or event)",
    f"name: a, {URL}, timeout: 10m": f"{PLACE}.timeout: 10m is not between 1s and 5m (write 10s)",
    f"name: a, {URL}, timeout: soon": f"{PLACE}.timeout: must be a duration such as 30s, 5m or 1h30m, or a number of "
    "seconds",
    f"name: a, {URL}, interval: 0s": f"{PLACE}.interval: is 0, so it would be called without a pause (write 30s)",
    f"name: a, {URL}, type: event, iterations: 2": f"{PLACE}.iterations: means nothing for the type event "
    "(remove it: it is for rollout)",
    f"name: a, {URL}, type: confirm-promotion, failureLimit: 2": f"{PLACE}.failureLimit: means nothing for the type "
    "confirm-promotion (remove it: it is for pre-rollout and rollout)",
    f"name: a, {URL}, type: rollback, deadline: 5m": f"{PLACE}.deadline: means nothing for the type rollback "
    "(remove it: it is for every type but rollback)",
    f"name: a, {URL}, headers: [{{name: X}}]": f"{PLACE}.headers[0]: must have exactly one of value and valueFrom "
    "(write value: ...)",
    f"name: a, {URL}, metadata: {{retries: 3}}": f"{PLACE}.metadata.retries: expected text, found a number "
    '(quote it: "3")',
    f"name: a, {URL}, retries: -1": f"{PLACE}.retries: -1 is too small (write 0 or more)",
}


@pytest.mark.parametrize("written", WRONG)
def test_mistake_has_its_place_and_remedy(written: str) -> None:
    spec, problems = loaded(webhooks(written))
    assert problems == [WRONG[written]]
    assert spec is None


def test_two_hooks_of_one_name_are_a_mistake() -> None:
    _, problems = loaded(webhooks(f"name: a, {URL}", f"name: a, type: event, {URL}"))
    assert problems == [
        "app.yaml:10: spec.strategy.blueGreen.webhooks[1].name: there are two hooks called a (rename one of them)"
    ]


def flagger(*lines: str) -> str:
    """The app with Flagger's ``analysis``."""
    return app_with("analysis:", *(f"  {line}" for line in lines))


def test_flaggers_analysis_webhooks_take_its_interval_iterations_and_threshold() -> None:
    hooks = "webhooks: [{name: load, url: http://a}, {name: gate, type: confirm-promotion, url: http://a}]"
    spec, problems = loaded(flagger("interval: 20s", "threshold: 5", "iterations: 10", hooks))
    assert (spec is not None, problems) == (True, [])
    load, gate = spec.strategy.hooks if spec else ()
    assert (load.interval, load.iterations, load.failure_limit) == (20, 10, 4)
    assert (gate.interval, gate.iterations, gate.failure_limit) == (20, 1, 0)
    assert spec is not None
    assert spec.strategy.pre_promotion_analysis is None


def test_hook_of_flaggers_analysis_may_have_limits_of_its_own() -> None:
    hook = "webhooks: [{name: load, url: http://a, interval: 5s, iterations: 2, failureLimit: 0}]"
    spec, _ = loaded(flagger("threshold: 5", hook))
    assert spec is not None
    assert [(one.interval, one.iterations, one.failure_limit) for one in spec.strategy.hooks] == [(5, 2, 0)]


def test_names_are_of_one_hook_only_in_both_places() -> None:
    text = app_with(
        "analysis: {webhooks: [{name: a, url: http://a}]}", blue_green="webhooks: [{name: a, url: http://a}]"
    )
    assert loaded(text)[1] == [
        "app.yaml:9: spec.analysis.webhooks[0].name: there are two hooks called a (rename one of them)"
    ]

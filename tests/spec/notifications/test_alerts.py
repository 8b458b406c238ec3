"""AlertProviders and ``alerts``: Flagger's fields and defaults, what they come to, and every mistake with its line."""

from __future__ import annotations

import json

import pytest

from gitops_bg.core.model.hooks import Hook, HookType, Severity
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.load import AppConfig, app_config_from_live, load_app
from gitops_bg.spec.app.settings import alerting_of
from gitops_bg.spec.notifications import load_providers
from tests.spec.texts import APP, SERVICE, TARGET, WEB, app_with, source_of

SETTINGS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"

FLAGGERS = """\
apiVersion: flagger.app/v1beta1
kind: AlertProvider
metadata:
  name: on-call
  namespace: flagger
spec:
  type: slack
  channel: on-call-alerts
  username: flagger
  # webhook address (ignored if secretRef is specified)
  address: https://hooks.slack.com/services/YOUR/SLACK/WEBHOOK
  # secret containing the webhook address (optional)
  secretRef:
    name: on-call-url
"""
"""https://docs.flagger.app/usage/alerting"""


def provider(name: str = "chat", spec: str = "type: slack, secretRef: {name: chat}", more: str = "") -> str:
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: AlertProvider\n"
    return f"{head}metadata: {{name: {name}{more}}}\nspec: {{{spec}}}\n"


def alerts(*items: str) -> str:
    return app_with("analysis:", "  alerts:", *(f"    - {{{item}}}" for item in items))


TOLD = "name: team, providerRef: {name: chat}"


def load(app: str, *providers: str, settings: str = SETTINGS, key: AppKey = WEB) -> AppConfig:
    shelf = load_providers({f"alerts/{number}.yaml": text.encode() for number, text in enumerate(providers)})
    files = {"app.yaml": app.encode(), "target.yaml": TARGET.encode()}
    return load_app(key, files, source_of, alerting=alerting_of(settings.encode(), shelf))


def problems(config: AppConfig) -> list[str]:
    return [str(problem).removeprefix("apps/shop/web/") for problem in config.problems]


def hooks_of(config: AppConfig) -> tuple[Hook, ...]:
    assert problems(config) == []
    assert config.spec is not None
    return config.spec.strategy.hooks


def test_an_alert_has_flaggers_defaults():
    (hook,) = hooks_of(load(alerts(TOLD), provider()))
    assert (hook.name, hook.type, hook.severity) == ("team", HookType.ALERT, Severity.INFO)
    assert (hook.deadline, hook.unknown, hook.namespace) == (3600, "", "")
    assert json.loads(hook.request) == {
        "type": "slack",
        "channel": "general",
        "username": "gitops-bg",
        "secret": "chat",
        "target": "apps/shop/web/target.yaml",
    }


def test_flaggers_own_example_is_read_as_it_is():
    on_call = "name: on-call Slack, severity: error, providerRef: {name: on-call, namespace: flagger}"
    (hook,) = hooks_of(load(alerts(on_call), FLAGGERS))
    assert (hook.name, hook.severity, hook.namespace) == ("on-call Slack", Severity.ERROR, "flagger")
    request = json.loads(hook.request)
    assert (request["channel"], request["username"], request["secret"]) == ("on-call-alerts", "flagger", "on-call-url")


@pytest.mark.parametrize("type_", ["slack", "msteams", "discord", "rocket", "gchat", "apprise"])
def test_every_type_of_flagger_is_one_and_apprise(type_):
    (hook,) = hooks_of(load(alerts(TOLD), provider(spec=f"type: {type_}, address: https://chat.test/1")))
    assert json.loads(hook.request)["type"] == type_


def test_the_secret_is_that_of_the_providers_namespace_or_else_of_the_apps():
    (own,) = hooks_of(load(alerts(TOLD), provider()))
    (shared,) = hooks_of(
        load(alerts("name: t, providerRef: {name: chat, namespace: ops}"), provider(more=", namespace: ops"))
    )
    (same,) = hooks_of(load(alerts(TOLD), provider(more=", namespace: shop")))
    assert (own.namespace, shared.namespace, same.namespace) == ("", "ops", "shop")


def test_alerts_stand_beside_an_analysis_in_argos_words():
    text = alerts(TOLD).replace("activeService: web", "activeService: web\n      prePromotionAnalysis: {}")
    assert len(hooks_of(load(text, provider()))) == 1


class TestDefaults:
    SETTINGS = f"{SETTINGS}alerts:\n  - {{name: everybody, severity: warn, providerRef: {{name: chat}}}}\n"

    def test_an_app_without_alerts_has_those_of_the_repository(self):
        config = load(APP, provider(), settings=self.SETTINGS)
        (hook,) = hooks_of(config)
        assert (hook.name, hook.severity, config.providers) == ("everybody", Severity.WARN, {"chat"})

    def test_alerts_of_its_own_stand_instead_of_them_as_in_flagger(self):
        config = load(
            alerts("name: mine, providerRef: {name: own}"), provider(), provider("own"), settings=self.SETTINGS
        )
        assert [hook.name for hook in hooks_of(config)] == ["mine"]

    def test_a_provider_that_is_missing_is_said_with_the_line_of_the_settings(self):
        assert problems(load(APP, settings=self.SETTINGS)) == [
            "gitops-bg.yaml:4: alerts[0].providerRef.name: there is no AlertProvider chat in alerts/ "
            "(add it; known: none)"
        ]


WRONG = {
    "missing provider": (
        alerts("name: team, providerRef: {name: caht}"),
        provider(),
        "app.yaml:10: spec.analysis.alerts[0].providerRef.name: there is no AlertProvider caht in alerts/ "
        "(add it; known: chat)",
    ),
    "unknown severity": (
        alerts("name: team, severity: warning, providerRef: {name: chat}"),
        provider(),
        "app.yaml:10: spec.analysis.alerts[0].severity: 'warning' is not allowed (write info, warn or error)",
    ),
    "two of one name": (
        alerts(TOLD, TOLD),
        provider(),
        "app.yaml:11: spec.analysis.alerts[1].name: there are two alerts called team (rename one of them)",
    ),
    "no provider named": (
        alerts("name: team"),
        provider(),
        "app.yaml:10: spec.analysis.alerts[0].providerRef: is required (add providerRef)",
    ),
    "provider of another namespace": (
        alerts(TOLD),
        provider(more=", namespace: ops"),
        "app.yaml:10: spec.analysis.alerts[0].providerRef.name: AlertProvider chat is of the namespace ops "
        "(add namespace: ops beside its name)",
    ),
    "unknown type": (
        alerts(TOLD),
        provider(spec="type: irc, address: https://chat.test/"),
        "alerts/0.yaml:4: spec.type: 'irc' is not allowed (write slack, msteams, discord, rocket, gchat or apprise)",
    ),
    "neither address nor Secret": (
        alerts(TOLD),
        provider(spec="type: slack"),
        "alerts/0.yaml:4: spec: has neither address nor secretRef (add secretRef: {name: ...}, with the key address)",
    ),
    "no URL": (
        alerts(TOLD),
        provider(spec="type: slack, address: hooks.slack.com/services/1"),
        "alerts/0.yaml:4: spec.address: is no URL (write one such as https://chat.example.com/hooks/1)",
    ),
    "a placeholder": (
        alerts(TOLD),
        provider(spec='type: slack, address: "https://chat.test/{{secret:a/b}}"'),
        "alerts/0.yaml:4: spec.address: holds {{…}}, which nothing fills in here (put it into a Secret, and name that)",
    ),
    "unknown field": (
        alerts(TOLD),
        provider(spec="type: slack, adress: https://chat.test/"),
        "alerts/0.yaml:4: spec.adress: there is no such field (did you mean address?)",
    ),
}


@pytest.mark.parametrize(("app", "written", "message"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_said_with_file_and_line_and_what_would_be_right(app, written, message):
    assert message in problems(load(app, written))


def test_two_providers_of_one_name_are_said_and_neither_is_used():
    config = load(alerts(TOLD), provider(), provider())
    assert problems(config) == [
        "alerts/1.yaml:3: metadata.name: there is an AlertProvider chat in alerts/0.yaml already "
        "(rename one of the two)"
    ]
    assert config.spec is not None
    assert config.spec.strategy.hooks[0].unknown.startswith("alerts/1.yaml:3")


def test_the_address_is_nowhere_in_what_is_said_of_a_mistake():
    wrong = provider(spec="type: slack, address: https://hooks.slack.com/services/S3CR3T, chanel: x")
    assert "S3CR3T" not in str(problems(load(alerts(TOLD), wrong)))


def test_a_live_object_is_told_by_what_main_says_of_alerts():
    """A broken app.yaml: the last good spec is the live one's, and its alerts are told of what is broken."""
    body = load(alerts(TOLD), provider()).body
    alerting = alerting_of(SETTINGS.encode(), load_providers({"alerts/a.yaml": provider().encode()}))
    known = app_config_from_live(WEB, {"spec": body}, alerting)
    assert (hooks_of(known)[0].unknown, hooks_of(known)[0].request) == (
        "",
        hooks_of(load(alerts(TOLD), provider()))[0].request,
    )
    assert "there is no AlertProvider chat" in hooks_of(app_config_from_live(WEB, {"spec": body}))[0].unknown


def check(**files: str) -> list[str]:
    named = {"apps/shop/web/app.yaml": APP, "apps/shop/web/target.yaml": TARGET, "apps/shop/web/service.yaml": SERVICE}
    named |= {"gitops-bg.yaml": SETTINGS, **{f"alerts/{name}.yaml": text for name, text in files.items()}}
    return [
        str(problem) for problem in check_repository((path, text.encode()) for path, text in named.items()).problems
    ]


def test_check_says_what_is_wrong_with_a_provider_that_nobody_uses():
    assert check(good=provider()) == []
    assert check(bad=provider(spec="type: slack")) == [
        "alerts/bad.yaml:4: spec: has neither address nor secretRef (add secretRef: {name: ...}, with the key address)"
    ]

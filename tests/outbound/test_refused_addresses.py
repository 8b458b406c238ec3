"""`check` notes an address of a template, a hook or an alert that the agent refuses to call, at its line."""

from __future__ import annotations

import pytest

from gitops_bg.outbound.addresses import refused_addresses
from gitops_bg.spec.app.check import check_repository
from tests.spec.lint.folder import APP, FOLDER, GOOD

TEMPLATE = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: AnalysisTemplate
metadata: {name: a}
spec:
  args: [{name: host}]
  metrics: [{name: m, count: 1, successCondition: result == 1, provider: {web: {url: 'http://%s/a'}}}]
"""
SETTINGS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"
REFUSED = {
    "169.254.169.254": "169.254.169.254 is link-local, as the metadata of clouds are",
    "127.0.0.1:8080": "127.0.0.1 is this machine itself",
    "[::1]:8080": "::1 is this machine itself",
    "[fd00:ec2::254]": "fd00:ec2::254 is where a cloud has its metadata",
    "localhost:9090": "127.0.0.1 is this machine itself",
    "metadata.google.internal.": "169.254.169.254 is link-local, as the metadata of clouds are",
}


def notes(files: dict[str, str]) -> list[str]:
    whole = {"gitops-bg.yaml": SETTINGS, **files}
    checked = check_repository([(k, v.encode()) for k, v in whole.items()], addresses=refused_addresses)
    assert checked.problems == []
    return [f"{each.rule.name}: {each.problem}" for each in checked.findings]


@pytest.mark.parametrize("host", REFUSED)
def test_an_address_of_a_template_that_the_agent_refuses_is_noted(host: str) -> None:
    assert notes({"analysis/a.yaml": TEMPLATE % host}) == [
        "refused-address: analysis/a.yaml:6: spec.metrics[0].provider.web.url: the agent refuses to call it: "
        f"{REFUSED[host]} (call a Service by its name; if it is meant, the agent needs --allow-address)"
    ]


@pytest.mark.parametrize("host", ["10.0.0.7", "prometheus.monitoring:9090", "{{args.host}}", "localhost.example"])
def test_an_address_that_it_may_call_is_noted_by_nobody(host: str) -> None:
    assert notes({"analysis/a.yaml": TEMPLATE % host}) == []


def test_an_address_of_a_hook_is_noted_too() -> None:
    hook = "  analysis: {webhooks: [{name: w, type: event, url: 'http://169.254.169.254/'}]}\n"
    files = {f"{FOLDER}/{name}": text for name, text in {**GOOD, "app.yaml": APP + hook}.items()}
    (said,) = notes(files)
    assert said.startswith(f"refused-address: {FOLDER}/app.yaml:9: spec.analysis.webhooks[0].url: the agent refuses")

"""docs/features/alerts.md: its examples are read as they stand, and its table is that of the core."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from gitops_bg.core.model.events import EVENTS
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.record import Event
from gitops_bg.notify import SERVICES
from gitops_bg.spec.analysis.block import FlaggerAnalysis
from gitops_bg.spec.app.settings import read_settings
from gitops_bg.spec.notifications import load_providers

PAGE = (Path(__file__).parents[3] / "docs" / "features" / "alerts.md").read_text()
PROVIDER, APP, SETTINGS, BY_APPRISE = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_provider_is_one() -> None:
    providers = load_providers({"alerts/on-call.yaml": PROVIDER.encode()})
    assert (set(providers.items), providers.all_problems()) == ({"on-call"}, ())


def test_the_provider_of_another_service_is_one() -> None:
    (loaded,) = load_providers({"alerts/phone.yaml": BY_APPRISE.encode()}).items.values()
    assert not loaded.problems
    assert loaded.spec is not None
    assert loaded.spec.type == "apprise"


def test_the_services_are_those_that_are_used() -> None:
    [listed] = re.findall(r"These are used: (.*?), each with", PAGE, re.DOTALL)
    named = set(re.findall(r"`([a-z]+)`", listed))
    assert named <= SERVICES <= named | {f"{name}s" for name in named}


def test_the_alerts_are_some() -> None:
    analysis = FlaggerAnalysis.model_validate(yaml.safe_load(APP)["spec"]["analysis"])
    assert [alert.severity for alert in analysis.alerts or ()] == ["error"]
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"
    assert read_settings((head + SETTINGS).encode())[1] == ()


@pytest.mark.parametrize("severity", Severity)
def test_the_table_has_every_event_that_is_told_with_its_severity(severity: Severity) -> None:
    (line,) = re.findall(rf"^\| `{severity}` \|.*\|(.*)\|$", PAGE, re.MULTILINE)
    told = {event for event, row in EVENTS.items() if row.severity is severity}
    assert set(re.findall(r"`([a-z-]+)`", line)) == told - {Event.HOOK_UNDELIVERED}

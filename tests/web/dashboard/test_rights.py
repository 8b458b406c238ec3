"""What pages about everything show to somebody who does not see all namespaces."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from gitops_bg.core.model.policy_rules import Match, Policy
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.ledger.ledger import ClusterLedger
from gitops_bg.repo.ledger.ledger_file import LedgerDocument
from gitops_bg.spec.access import AccessRule
from gitops_bg.web.access.person import Access, Person, Role, Via
from gitops_bg.web.dashboard.api import Api
from gitops_bg.web.dashboard.pages import Pages
from gitops_bg.web.dashboard.snapshot import Snapshot, listed, snapshot_of
from gitops_bg.web.dashboard.source import FleetReading, Source
from tests.web.dashboard.objects import NOW, body

WEB, PAY = AppKey("shop", "web"), AppKey("pay", "bank")
ACCESS = Access((AccessRule(Role.VIEWER, ("shop",), ("shop",)), AccessRule(Role.VIEWER, ("all",))))
DOUBT = "apps/{}.yaml: somebody else wrote it"
EU = ClusterLedger(
    "eu",
    documents={WEB: LedgerDocument(), PAY: LedgerDocument()},
    doubts={PAY: DOUBT.format("pay/bank"), WEB: DOUBT.format("shop/web")},
)
POLICIES = (Policy("night", ()), Policy("bankers", (), Match(namespaces=("pay",))))


class Known(Source):
    """Two apps in two namespaces, the ledger of one cluster, and two policies."""

    def __init__(self, apps: tuple[AppKey, ...] = (WEB, PAY)) -> None:
        self._rows = [listed(body(each.namespace, each.name)) for each in apps]

    @property
    def clock(self) -> Any:  # type: ignore[override]
        return lambda: NOW

    def snapshot(self) -> Snapshot:
        return snapshot_of(1, self._rows)

    def fleet(self) -> FleetReading:
        return FleetReading(NOW, (EU,), "no route to host")

    @property
    def _running(self) -> Any:  # type: ignore[override]
        policies = SimpleNamespace(policies=POLICIES, troubles=[SimpleNamespace(said="policies/bank.yaml:3: no rule")])
        none = SimpleNamespace(environments=())
        reading = SimpleNamespace(entries={}, policies=policies, environment=none)
        return SimpleNamespace(catalog=SimpleNamespace(reading=reading))


def asked_by(group: str) -> Request:
    person = Person("Ada", "ada@example.com", "ada", frozenset([group]), Via.OIDC)
    state = {"person": person, "access": ACCESS, "form_token": "", "reading_only": ""}
    return Request({"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [], "state": state})


@pytest.mark.parametrize(
    ("group", "trouble"), [("all", DOUBT.format("pay/bank")), ("shop", DOUBT.format("shop/web")), ("nobody", "")]
)
def test_the_doubts_of_a_ledger_are_told_to_who_sees_the_namespace(group: str, trouble: str) -> None:
    source = Known()
    pages = Pages(source)
    said = Api(source, pages)._fleet(asked_by(group))
    assert [each["trouble"] for each in said["clusters"]] == [trouble]
    shown = pages.fleet(asked_by(group)).given
    assert [each.amiss for each in shown["fleet"].ledgers] == [trouble]
    assert {str(about) for about, _ in shown["rows"]} == {str(about) for about in (PAY, WEB) if _sees(group, about)}


def test_programs_are_told_that_the_ledgers_could_not_be_fetched_again() -> None:
    said = Api(Known(), Pages(Known()))._fleet(asked_by("all"))
    assert (said["trouble"], said["readAt"]) == ("no route to host", "2026-03-01T12:00:00+00:00")


@pytest.mark.parametrize(
    ("group", "names", "troubles"),
    [("all", ["night", "bankers"], ["policies/bank.yaml:3: no rule"]), ("shop", ["night"], []), ("nobody", [], [])],
)
def test_policies_are_shown_to_who_sees_an_app_that_they_are_for(
    group: str, names: list[str], troubles: list[str]
) -> None:
    shown = Pages(Known()).policies(asked_by(group)).given
    assert [each.policy.name for each in shown["policies"]] == names
    assert shown["troubles"] == troubles


def test_who_sees_no_namespace_sees_no_policy_either_while_there_is_no_app() -> None:
    assert Pages(Known(())).policies(asked_by("nobody")).given["policies"] == []
    assert len(Pages(Known(())).policies(asked_by("all")).given["policies"]) == 2


def _sees(group: str, about: AppKey) -> bool:
    return group in ("all", about.namespace)

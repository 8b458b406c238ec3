"""Whatever comes from outside is shown as text: markup, control characters, marks that reorder, and 10 KB of it."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest

from gitops_bg.agent.operate.compare import Comparison
from gitops_bg.core.model.analysis import (
    Analyses,
    AnalysisPhase,
    AnalysisRun,
    AnalysisStage,
    Measurement,
    Metric,
    MetricRun,
)
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.policy_rules import Match, Policy
from gitops_bg.core.model.record import Event, LedgerEntry, Record, Routing
from gitops_bg.core.model.version import AppKey, Color, GroupKey, Snapshot, Source, Stage, Version
from gitops_bg.repo.ledger.ledger import ClusterLedger, Committed
from gitops_bg.repo.ledger.ledger_file import LedgerDocument, PublishedEntry, SubjectState, VersionState
from gitops_bg.spec.manifests.differences import Difference
from gitops_bg.views.app import AppView, Pod, ReplicaSet
from gitops_bg.views.fleet import FleetRow
from gitops_bg.views.history import HistoryRow
from gitops_bg.views.obstacles import Trouble
from gitops_bg.views.rows import Row
from gitops_bg.web.access.person import Person, Role, Via
from gitops_bg.web.dashboard.action_table import ACTIONS
from gitops_bg.web.dashboard.app_page import AppPage
from gitops_bg.web.dashboard.listing import Query, page_of
from gitops_bg.web.dashboard.policies import ShownPolicy, Span
from gitops_bg.web.dashboard.rendering import render, web_link
from gitops_bg.web.dashboard.snapshot import snapshot_of
from gitops_bg.web.dashboard.source import FleetReading
from tests.web.dashboard.objects import MAIN, NOW, common, line

EVIL = {
    "markup": "</td><script>alert(1)</script><img src=x onerror=alert(1)>",
    "attributes": '" onmouseover="alert(1)" x="',
    "control": "a\x1b[31m\x00\x07b",
    "reordering": "safe\u202egnp.exe\u2066\u200f",
    "long": "w" * 10_000,
    "template": "{{ 7 * 7 }}{% raw %}",
    "half": "\ud800",
}
_ALLOWED = set(
    "html head meta title link body a header img nav span main div h1 h2 h3 p ul ol li section form label input select "  # noqa: SIM905
    "option button table caption thead tbody tr th td time footer code b strong dl dt dd figure pre br "
    "script dialog datalist kbd svg g rect circle path text".split()
)


class Elements(HTMLParser):
    """The elements of a page, and their attributes that act."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.acts: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.acts += [f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name in ("style", "srcdoc")]
        self.acts += [f"{tag} {value}" for name, value in attrs if name in ("href", "src") and _leads_out(value or "")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def _leads_out(address: str) -> bool:
    return not address.startswith(("/", "#", "?", "https://forge.example/"))


def everywhere(value: Any, evil: str) -> Any:
    """The same with a text in place of every text, but for words that are not anybody's."""
    if isinstance(value, str) and type(value) is str:
        return evil
    if isinstance(value, tuple):
        return tuple(everywhere(each, evil) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        given = {each.name: everywhere(getattr(value, each.name), evil) for each in fields(value) if each.init}
        return replace(value, **given)
    return value


OLD, NEW = "v1:" + "a" * 64, "v1:" + "b" * 64


def _version(number: int, digest: str, color: Color, stage: Stage, evil: str) -> Version:
    source = Source(evil, evil, NOW, evil)
    return Version(number, Snapshot(digest, ""), color, stage, source, number, NOW, tag=evil, failure=evil)


def _record(evil: str) -> Record:
    measured = Measurement(AnalysisPhase.FAILED, NOW, evil, evil)
    metric = MetricRun(Metric(evil, evil, success=evil), successful=1, measurements=(measured,))
    run = AnalysisRun(AnalysisStage.PRE, NEW, 2, started_at=NOW, metrics=(metric,))
    return Record(
        versions=(
            _version(1, OLD, Color.BLUE, Stage.ACTIVE, evil),
            _version(2, NEW, Color.GREEN, Stage.CANDIDATE, evil),
        ),
        routing=Routing(traffic=OLD, preview=NEW),
        analyses=Analyses(runs=(run,)),
    )


def _app_page(evil: str) -> AppPage:
    """The page of an app in which every text of the cluster, of Git and of people is evil."""
    row = Row("shop", "web", evil, 1, evil, evil, 2, evil, evil, evil, "", evil, OLD)
    row = replace(row, demands=(Condition(evil, True, evil, evil), Condition("OnHold", True, "Hold", evil)))
    sides = {"from_version": 1, "from_digest": OLD, "to_version": 2, "to_digest": NEW}
    entry = everywhere(LedgerEntry(1, NOW, Event.PROMOTED, 1, **sides), evil)
    gate = {"kind": evil, "reason": evil}
    view = AppView(
        row=row,
        gates=(gate | {"open": False, "until": "2026-03-02T06:00:00Z"}, gate | {"open": True}),
        record=_record(evil),
        strategy=None,
        services=(("preview", ServiceView(evil, evil, 1)),),
        replica_sets=(ReplicaSet(evil, "b" * 10, 2, 2, 0, 0, "2026-03-01T11:00:00Z"),),
        pods=(Pod(evil, "b" * 10, evil, 0, 1, 0, "2026-03-01T11:00:00Z", evil),),
        templates={OLD: _template("a"), NEW: _template(evil)},
        pull=PullRequest(7, f"javascript:{evil}"),
    )
    return AppPage(
        view, (Trouble(evil, evil, (evil,), evil),), (HistoryRow(Committed("d" * 40, "e", entry)),), evil, NOW
    )


def _template(value: str) -> str:
    container = {"name": "web", "image": "registry.example/web", "env": [{"name": "A", "value": value}]}
    return json.dumps({"spec": {"containers": [container]}})


def _rendered(name: str, **given: Any) -> str:
    return render(name, common() | given)


def _demand_text(page: str) -> None:
    """No element or attribute that a template does not have, and no character that nobody sees."""
    found = Elements(page)
    assert found.names <= _ALLOWED
    assert page.count("<script") == 1
    assert found.acts == []
    assert all(sign.isprintable() or sign == "\n" for sign in page)
    page.encode()


@pytest.mark.parametrize("evil", EVIL.values(), ids=list(EVIL))
def test_every_field_of_an_app_is_text(evil: str) -> None:
    page = _app_page(evil)
    person = everywhere(common()["person"], evil)
    actions = list(ACTIONS.values())
    more = {"actions": actions, "gate_actions": [(actions[0], evil)], "token": evil, "address": evil, "person": person}
    more["logs"] = {evil: evil, "x": "https://logs.example.com/"}
    shown = _rendered("app.html", app=AppKey(evil, evil), page=page, **more)
    _demand_text(shown)
    assert "javascript:" not in re.sub(r">[^<]*<", "><", shown)


@pytest.mark.parametrize("evil", EVIL.values(), ids=list(EVIL))
def test_every_field_of_the_list_is_text(evil: str) -> None:
    one = everywhere(line("web", "AwaitingPromotion", gates=[{"kind": "policy", "open": False, "reason": "x"}]), evil)
    snapshot = replace(snapshot_of(1, [one]), namespaces=(evil,))
    page = page_of(snapshot, Query(search=evil, phase=evil, namespace=evil, label=evil))
    main = everywhere(replace(MAIN, problems=("x",)), evil)
    _demand_text(_rendered("list.html", page=replace(page, rows=(one,)), waiting=[one], mine={one}, main=main))


@pytest.mark.parametrize("evil", EVIL.values(), ids=list(EVIL))
def test_every_field_of_the_other_pages_is_text(evil: str) -> None:
    app, group, row = AppKey(evil, evil), GroupKey(evil, evil), _app_page(evil).history[0]
    one = everywhere(line("web", "Held", gates=[{"kind": "policy", "open": False, "reason": "x"}]), evil)
    difference = Difference(evil, evil, f"{evil}\n{evil}")
    _demand_text(_rendered("history.html", subject=app, rows=(row,), number=2, more=True))
    _demand_text(_rendered("entry.html", subject=group, row=row, changes=(difference,)))
    both = Comparison(app, _app_page(evil).view.versions[0], _app_page(evil).view.versions[1], (difference,))
    _demand_text(_rendered("compare.html", app=app, known=[1], asked=[evil, evil], found=both))
    _demand_text(_rendered("wall.html", asking=[one], moving=[one], total=2))
    policy = Policy(evil, match=Match(), broken=evil)
    shown = ShownPolicy(policy, (evil,), 1, (one,), (Span(NOW, NOW + timedelta(hours=1), evil),))
    _demand_text(_rendered("policies.html", policies=[shown], troubles=[evil], days=7))
    state = SubjectState(active=VersionState(1, evil, evil, tag=evil), candidate=VersionState(2, evil, tag=evil))
    entry = PublishedEntry("e", everywhere(LedgerEntry(1, NOW, Event.HELD), evil))
    document = LedgerDocument(state, history=(entry,))
    fleet = FleetReading(NOW, (ClusterLedger(evil, evil, NOW, evil),), evil)
    rows = [(each, {evil: FleetRow(each, evil, document, agrees=True)}) for each in (app, group)]
    _demand_text(
        _rendered("fleet.html", fleet=fleet, rows=rows, found=3, query=Query(search=evil), has_environments=True)
    )
    person = Person(evil, evil, evil, frozenset({evil}), Via.OIDC)
    _demand_text(_rendered("me.html", person=person, roles={Role.VIEWER: [evil]}, places=[evil, "shop"]))
    _demand_text(_rendered("failed.html", what=evil))


@pytest.mark.parametrize("evil", EVIL.values(), ids=list(EVIL))
def test_what_is_not_there_is_named_as_text(evil: str) -> None:
    _demand_text(_rendered("unknown.html", what=evil, instead=[AppKey(evil, evil)]))


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "//evil.example", "https://a.example/\nx", "ftp://x", ""]
)
def test_only_http_and_https_lead_out(address: str) -> None:
    assert web_link(address) == ""
    assert web_link("https://forge.example/shop/pulls/7") == "https://forge.example/shop/pulls/7"


def test_times_are_readable_without_a_script() -> None:
    at = datetime(2026, 3, 1, 11, 0, tzinfo=UTC)
    page = _rendered("list.html", page=page_of(snapshot_of(1, [line("web")]), Query()), waiting=[], mine=())
    assert f'<time datetime="{at:%Y-%m-%dT%H:%M:%SZ}" title="2026-03-01 11:00:00 UTC" class="ago">1h ago</time>' in page

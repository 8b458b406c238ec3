"""All variables of expressions: those that are known, and those without a key because they are unknown."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gitops_bg.core.checks.policy_facts import described_by
from gitops_bg.core.checks.policy_rules import VARIABLES, values_of
from gitops_bg.core.model.policy_facts import (
    Approval,
    CommitFacts,
    Others,
    PastMove,
    Peer,
    Person,
    PolicyFacts,
    VersionFacts,
)
from gitops_bg.core.model.policy_rules import Proof
from gitops_bg.core.model.version import AppKey

NOW = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)  # a Friday there, and a Saturday in Berlin
WEB, API = AppKey("shop", "web"), AppKey("shop", "api")
ADA, BOB = Person("Ada", "ada@example.com"), Person("Bob", "bob@example.com")
MERGE = CommitFacts("6" * 40, ADA, BOB, NOW, "go", (("Ticket", "T-1"), ("Ticket", "T-2")))


def test_all_that_is_known() -> None:
    facts = PolicyFacts(
        app=WEB,
        to=VersionFacts("v1:new", 2, "1.2", ("web:1.2",), MERGE, "6" * 40),
        serving=VersionFacts("v1:old", 1, "1.1", ("web:1.1",), None, "5" * 40),
        labels=(("tier", "1"),),
        annotations=(("needs-api", "2"),),
        available_since=NOW - timedelta(hours=1),
        promotion=MERGE,
        others=Others({API: Peer(API, healthy_since=NOW, phase="Healthy", digest="v1:api", number=3, label="3.0")}),
        promotions=(PastMove(NOW, "v1:old", "go"),),
        rollbacks=(PastMove(NOW, "v1:bad", "no"),),
        approvals=(Approval("bob", "v1:new", NOW, Proof.FORGE, frozenset(["b", "a"])),),
    )
    merge = {
        "commit": "6" * 40,
        "author": "Ada <ada@example.com>",
        "by": "Bob <bob@example.com>",
        "at": NOW,
        "message": "go",
        "trailers": {"Ticket": "T-1"},
    }
    assert values_of(facts, NOW, ZoneInfo("Europe/Berlin")) == {
        "app": {"namespace": "shop", "name": "web", "labels": {"tier": "1"}, "annotations": {"needs-api": "2"}},
        "from": {
            "version": 1,
            "version_label": "1.1",
            "digest": "v1:old",
            "images": ["web:1.1"],
            "source": {"commit": "5" * 40},
        },
        "to": {"version": 2, "version_label": "1.2", "digest": "v1:new", "images": ["web:1.2"], "source": merge},
        "promotion": merge,
        "approvals": [{"by": "bob", "groups": ["a", "b"], "at": NOW, "proof": "forge"}],
        "preview": {"healthy": True, "available_since": NOW - timedelta(hours=1)},
        "history": {
            "promotions": [{"at": NOW, "digest": "v1:old", "reason": "go"}],
            "rollbacks": [{"at": NOW, "digest": "v1:bad", "reason": "no"}],
        },
        "apps": {
            "shop/api": {
                "active": {"version": 3, "version_label": "3.0", "digest": "v1:api"},
                "phase": "Healthy",
                "since": NOW,
                "healthy": True,
            }
        },
        "now": NOW,
        "local": {"weekday": "sat", "hour": 0, "minute": 30, "date": "2026-11-21"},
    }


def test_what_nobody_knows_has_no_key() -> None:
    facts = PolicyFacts(WEB, VersionFacts("v1:new"), others=Others({API: Peer(API, phase="Progressing")}))
    values = values_of(facts, NOW, UTC)
    assert tuple(values) == tuple(each for each in VARIABLES if each != "approvals")
    assert (values["from"], values["promotion"]) == ({}, {})
    assert values["to"] == {"version": 0, "version_label": "", "digest": "v1:new", "source": {"commit": ""}}
    assert values["preview"] == {"healthy": False}
    assert values["apps"] == {
        "shop/api": {
            "active": {"version": 0, "version_label": "", "digest": ""},
            "phase": "Progressing",
            "healthy": False,
        }
    }


def test_an_expression_sees_the_approvals_that_may_count_for_this_version() -> None:
    yes = Approval("bob", "v1:new", NOW)
    void, other = replace(yes, by="cy", void="cy asks for changes"), replace(yes, by="di", digest="v1:old")
    facts = PolicyFacts(WEB, VersionFacts("v1:new"), approvals=(yes, void, other))
    assert [each["by"] for each in values_of(facts, NOW, UTC)["approvals"]] == ["bob"]  # type: ignore[attr-defined]
    assert values_of(replace(facts, approvals=()), NOW, UTC)["approvals"] == []
    early = replace(yes, by="flo", proof=Proof.MERGE, at=NOW + timedelta(hours=1))
    assert values_of(replace(facts, approvals=(early,)), NOW, UTC)["approvals"] == [], "as for other rules"


@pytest.mark.parametrize(
    ("template", "images", "label"),
    [
        ('{"spec": {"containers": [{"image": "registry:5000/web:1.2"}]}}', ("registry:5000/web:1.2",), "1.2"),
        ('{"spec": {"containers": [{"image": "registry:5000/web"}]}}', ("registry:5000/web",), ""),
        ('{"spec": {"containers": [{"image": "web@sha256:12"}]}}', ("web@sha256:12",), "sha256:12"),
        ('{"spec": {"containers": [{"image": "web:1@sha256:12"}]}}', ("web:1@sha256:12",), "1"),
        ('{"spec": {"containers": [{"image": "web"}], "initContainers": [{}]}}', ("web", ""), ""),
        ('{"metadata": {"labels": {"app.kubernetes.io/version": "7"}}}', (), "7"),
        ('{"metadata": {"labels": null}, "spec": null}', (), ""),
    ],
)
def test_what_a_template_says_of_its_version(template: str, images: tuple[str, ...], label: str) -> None:
    assert described_by(template) == (images, label)

"""What policies ask across environments: that a release is proven in those before, and that images served there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.core.checks.policy_judge import judge
from gitops_bg.core.checks.release_choice import choose
from gitops_bg.core.environments.proven import ClusterReport, EnvironmentInput, Former
from gitops_bg.core.model.policy_facts import CommitFacts, Person, PolicyFacts, RuleVerdict, VersionFacts
from gitops_bg.core.model.policy_rules import After, BreakGlass, Images, Policy, ProvenIn, Rule
from gitops_bg.core.model.version import AppKey
from tests.core.environments.ledgers import known, proof, report

NOW = datetime(2026, 1, 1, 15, tzinfo=UTC)
TWO_HOURS = After(from_=("staging",), proven=timedelta(hours=2))
ADA = Person("Ada", "ada@example.com")
LETS_ADA = BreakGlass(("ada",), frozenset(["ada@example.com"]), names=frozenset(["ada"]))
TO = VersionFacts("v1:new", 2, "1.2", ("registry.example/web:2", "registry.example/proxy:1"))


def facts(*reports: ClusterReport, **changes: object) -> PolicyFacts:
    """r2 is to be live in production; what the clusters of staging say."""
    formers = (Former("staging", 0, reports),) if reports else ()
    made = PolicyFacts(
        AppKey("shop", "web"), TO, VersionFacts("v1:old", 1), environment="prod", release=known(2), formers=formers
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def verdict(rule: Rule, of: PolicyFacts, override: BreakGlass | None = None) -> RuleVerdict:
    (only,) = judge([Policy("calm", (rule,), override=override)], of, NOW)
    return only


PROVEN = report(proof(2, 7200), serves=2, cluster="staging-1")
FOR_LESS = report(proof(2, 1800), serves=2, cluster="staging-1")
OTHER = report(proof(1, 7200), serves=1, cluster="staging-2")


@pytest.mark.parametrize(
    ("rule", "of", "is_open", "said"),
    [
        (TWO_HOURS, facts(PROVEN), True, "r2 is proven in staging"),
        (TWO_HOURS, facts(FOR_LESS), False, "r2 waits for staging: it serves in staging-1 since"),
        (TWO_HOURS, facts(PROVEN, OTHER), False, "r2 waits for staging: staging-2 serves r1"),
        (replace(TWO_HOURS, proven_in=ProvenIn.ANY), facts(PROVEN, OTHER), True, "r2 is proven in staging"),
        (TWO_HOURS, facts(), False, "r2 waits for staging: the app is not in it"),
        (TWO_HOURS, facts(PROVEN, release=None), False, "nobody can tell which release it is of"),
    ],
    ids=["proven", "for less", "in one of two", "in any", "the app lacks it", "no release"],
)
def test_a_release_is_to_be_proven_before(rule: After, of: PolicyFacts, is_open: bool, said: str) -> None:
    found = verdict(rule, of)
    assert found.open is is_open
    assert found.reason.startswith(said)


def test_a_policy_and_environments_yaml_are_one_sentence_about_one_release() -> None:
    asked = replace(TWO_HOURS, proven=timedelta(hours=1))
    by_file = Former("staging", 3600, (FOR_LESS,))
    given = EnvironmentInput("prod", formers=(by_file,), known=(known(1), known(2)), entered=known(1))
    by_policy = replace(given, formers=(replace(by_file, seconds=0),), asked=(by_file,))
    assert choose(given).waits == choose(by_policy).waits == verdict(asked, facts(FOR_LESS)).reason
    assert choose(by_policy).release is None


def skipping(*environments: str, by: Person = ADA, reason: str = "INC-4711") -> CommitFacts:
    trailers = [*(("Bg-Skipped", each) for each in environments), *([("Bg-Reason", reason)] if reason else [])]
    return CommitFacts("7" * 40, by, by, NOW, "let it in", tuple(trailers))


@pytest.mark.parametrize(
    ("entry", "override", "said"),
    [
        (skipping("staging"), LETS_ADA, ""),
        (skipping("dev"), LETS_ADA, "staging-2 serves r1"),
        (skipping("staging"), None, "the policy has no override"),
        (skipping("staging", by=Person("Bob", "bob@example.com")), LETS_ADA, "may not override it"),
        (skipping("staging", reason=""), LETS_ADA, "its override says no Bg-Reason"),
        (None, LETS_ADA, "staging-2 serves r1"),
    ],
    ids=["who may", "past another one", "nobody may", "who may not", "without a reason", "it came in as all do"],
)
def test_who_lets_a_release_in_past_an_environment_overrides_it(
    entry: CommitFacts | None, override: BreakGlass | None, said: str
) -> None:
    found = verdict(TWO_HOURS, facts(OTHER, entry=entry), override)
    assert (not found.holds) is (not said)
    assert said in found.reason
    if not said:
        assert found.overriding is not None
        assert (found.overriding.by, found.overriding.commit) == ("Ada <ada@example.com>", "7" * 40)


@pytest.mark.parametrize(
    ("served", "said"),
    [
        ({"staging": frozenset(TO.images or ())}, "every image served in staging"),
        ({"staging": frozenset(["registry.example/web:2"])}, "registry.example/proxy:1 never served in staging"),
        ({"dev": frozenset(TO.images or ())}, "nobody can tell the images that served in staging"),
    ],
    ids=["all of them", "one of two", "unknown"],
)
def test_images_are_those_of_an_environment_before(served: dict[str, frozenset[str]], said: str) -> None:
    found = verdict(Images(same_as="staging"), facts(served=served))
    assert (found.open, found.reason) == (said.startswith("every"), said)

"""Environments: which one a cluster is of, which come before and after it, and what contradicts itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.environments.model import (
    NO_ENVIRONMENTS,
    After,
    Environment,
    Environments,
    faults,
    wave,
    wave_of,
)
from gitops_bg.core.model.version import ReleaseId, release_id

DEV = Environment("dev", ("dev-1",))
STAGING = Environment("staging", ("staging-1",), After(proven=timedelta(minutes=30)))
PROD = Environment("prod", ("prod-eu", "prod-us"), After(from_=("staging",), proven=timedelta(hours=2)))
THREE = Environments((DEV, STAGING, PROD))
ALL = frozenset({"dev", "staging", "prod"})


def test_a_cluster_is_of_the_environment_that_names_it() -> None:
    assert THREE.of_cluster("prod-us") == PROD
    assert THREE.of_cluster("elsewhere") is None
    assert not NO_ENVIRONMENTS
    assert NO_ENVIRONMENTS.of_cluster("dev-1") is None


@pytest.mark.parametrize(
    ("folders", "first"), [(ALL, "dev"), ({"staging", "prod"}, "staging"), ({"prod", "docs"}, "prod"), (set[str](), "")]
)
def test_the_first_environment_of_an_app_is_the_first_one_it_has_a_folder_for(folders: set[str], first: str) -> None:
    assert [each.name for each in THREE if THREE.is_first(each.name, folders)] == ([first] if first else [])


@pytest.mark.parametrize(
    ("name", "folders", "former", "lacking"),
    [
        ("dev", ALL, (), ()),
        ("staging", ALL, ("dev",), ()),
        ("prod", ALL, ("staging",), ()),
        ("prod", {"dev", "prod"}, ("staging",), ("staging",)),
        ("prod", {"prod"}, (), ()),
        ("staging", {"dev", "prod"}, (), ()),
        ("elsewhere", ALL, (), ()),
    ],
)
def test_a_release_comes_from_the_environments_that_after_names_else_from_the_one_before(
    name: str, folders: set[str], former: tuple[str, ...], lacking: tuple[str, ...]
) -> None:
    assert THREE.former(name, folders) == former
    assert THREE.lacking(name, folders) == lacking


def test_without_from_an_app_passes_by_an_environment_that_it_has_no_folder_for() -> None:
    prod = replace(PROD, after=After(proven=timedelta(hours=2)))
    assert Environments((DEV, STAGING, prod)).former("prod", {"dev", "prod"}) == ("dev",)


def test_an_environment_is_asked_for_each_period_that_a_later_one_names() -> None:
    qa = Environment("qa", ("qa-1",), After(from_=("dev",), proven=timedelta(hours=1)))
    demo = Environment("demo", ("demo-1",), After(from_=("dev",)))
    four = Environments((DEV, STAGING, qa, demo))
    assert four.thresholds("dev", set(four.names)) == (timedelta(), timedelta(minutes=30), timedelta(hours=1))
    assert four.thresholds("dev", {"dev", "qa"}) == (timedelta(hours=1),)
    assert four.thresholds("demo", set(four.names)) == ()


def test_waves_are_those_that_fit_first() -> None:
    prod = replace(PROD, clusters=("canary-1", "eu-1", "us-1", "eu-2"), waves=(("canary-*",), ("eu-*",), ("*",)))
    assert [wave_of(prod, each) for each in prod.clusters] == [0, 1, 2, 1]
    assert wave(prod, 1) == ("eu-1", "eu-2")
    assert wave_of(PROD, "prod-us") == 0


@pytest.mark.parametrize(
    ("environments", "field", "said"),
    [
        ((DEV, replace(DEV, clusters=("dev-2",))), "environments.1.name", "dev is also the name of environment 1"),
        ((DEV, STAGING, replace(STAGING, clusters=("x",))), "environments.2.name", "is also the name of environment 2"),
        ((replace(DEV, name="target"),), "environments.0.name", "is the name of a file of each app"),
        ((STAGING,), "environments.0.after", "is the first environment"),
        ((DEV, PROD), "environments.1.after.from.0", "there is no environment staging"),
        ((DEV, replace(PROD, name="staging")), "environments.1.after.from.0", "is this environment itself"),
        (
            (DEV, replace(STAGING, after=After(from_=("prod",))), PROD),
            "environments.1.after.from.0",
            "prod comes after staging, so that each would wait for the other",
        ),
        (
            (DEV, STAGING, replace(PROD, after=After(from_=("dev", "dev")))),
            "environments.2.after.from.1",
            "dev is named twice",
        ),
        ((DEV, replace(STAGING, clusters=("dev-1",))), "environments.1.clusters.0", "dev-1 is named in dev, too"),
        ((replace(DEV, clusters=("a", "a")),), "environments.0.clusters.1", "a is named twice"),
        ((replace(DEV, waves=(("dev-*", "qa-*"),)),), "environments.0.waves.0.1", "qa-* fits none of the clusters"),
        (
            (DEV, STAGING, replace(PROD, waves=(("prod-eu",), ("*-eu",), ("*",)))),
            "environments.2.waves.1",
            "has no cluster: what *-eu fits is in a wave before",
        ),
        ((DEV, STAGING, replace(PROD, waves=(("prod-eu",),))), "environments.2.waves", "prod-us is in no wave"),
        ((replace(DEV, between=timedelta(hours=1)),), "environments.0.between", "means nothing without waves"),
    ],
)
def test_each_contradiction_is_told_with_its_field(
    environments: tuple[Environment, ...], field: str, said: str
) -> None:
    (fault,) = faults(Environments(environments))
    assert fault.field == field
    assert said in fault.message
    assert fault.remedy


def test_what_fits_together_has_no_fault() -> None:
    assert not list(faults(THREE))
    assert not list(faults(NO_ENVIRONMENTS))


@pytest.mark.parametrize("release", [ReleaseId(12, "r1:" + "3f" * 32), ReleaseId(0, "r1:" + "3f" * 32)])
def test_a_release_in_a_trailer_is_read_back(release: ReleaseId) -> None:
    assert release_id(str(release)) == release


@pytest.mark.parametrize(
    "text", ["", "r12", "r1:3f9c012345", "r012 r1:3f9c012345", "r12 v1:3f9c012345", "r٣ r1:3f9c012345"]
)
def test_another_text_names_no_release(text: str) -> None:
    assert release_id(text) is None

"""Names of live objects: short enough for Kubernetes, unique for each app and version, and never changed."""

import re

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.analysis.runs import MeasurementId
from gitops_bg.core.model.version import AppKey

DIGEST = "v1:3f9c0123456789abcdef"
LONGEST_THAT_FITS = 63 - len("-primary-3f9c012345")

NAMES = {
    "a short one": ("web", "web-primary-3f9c012345"),
    "the longest that fits": ("a" * LONGEST_THAT_FITS, "a" * LONGEST_THAT_FITS + "-primary-3f9c012345"),
    "one character more is cut and hashed": ("a" * 45, "a" * 35 + "-52789e34-primary-3f9c012345"),
    "no dash is left where it is cut": ("a" * 34 + "-" + "b" * 20, "a" * 34 + "-b97bbc1c-primary-3f9c012345"),
}


@pytest.mark.parametrize("name", NAMES)
def test_replica_set_is_named(name):
    app, expected = NAMES[name]
    assert names.replica_set_name(AppKey("shop", app), DIGEST) == expected


LONG = ["a" * length for length in range(40, 64)] + ["a" * 60 + "-" + letter for letter in "bc"]


def test_every_name_fits_and_is_a_dns_label():
    for app in LONG:
        name = names.replica_set_name(AppKey("shop", app), DIGEST)
        assert len(name) <= 63
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)


def test_different_apps_and_versions_have_different_names():
    made = {
        names.replica_set_name(AppKey("shop", app), digest) for app in LONG for digest in (DIGEST, "v1:" + "0" * 64)
    }
    assert len(made) == 2 * len(LONG)


def test_apps_that_differ_only_beyond_the_cut_have_different_labels():
    labels = {names.app_label(AppKey("shop", "a" * 70 + letter)) for letter in "bcd"}
    assert len(labels) == 3
    assert all(len(label) <= 63 for label in labels)


FITTED = {
    "63 characters stay": ("x" * 63, "x" * 63),
    "64 are cut and hashed": ("x" * 64, "x" * 54 + "-7ce10097"),
    "no dot or dash is left where it is cut": ("x" * 52 + ".-" + "y" * 20, "x" * 52 + "-715f9348"),
}


@pytest.mark.parametrize("name", FITTED)
def test_fit(name):
    given, expected = FITTED[name]
    assert names.fit(given) == expected


def test_a_selector_names_the_app_and_the_version():
    assert names.selector(AppKey("shop", "web"), DIGEST) == {
        "gitops-bg.dev/app": "web",
        "gitops-bg.dev/digest": "3f9c012345",
    }


def test_pods_of_an_app_with_a_long_name_begin_with_what_leaves_room_for_five_characters():
    app = AppKey("shop", "a" * LONGEST_THAT_FITS)
    assert names.pod_base(app, DIGEST) == names.replica_set_name(app, DIGEST)[:58]


def test_job_of_a_long_metric_has_a_name_of_63_characters():
    measured = MeasurementId("5eed", 3, AnalysisStage.PRE, 1, "m" * 60, 0)
    assert names.job_name(AppKey("shop", "web"), measured) == f"web-pre-{'m' * 44}-5789c6ddb5"

"""Names of live objects: short enough for Kubernetes, unique for each app and version, and never changed."""

import re

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.analysis import AnalysisStage, MeasurementId
from gitops_bg.core.model.version import AppKey

DIGEST = "v1:3f9c0123456789abcdef"
SUFFIX = "-v5-3f9c012345"
LONGEST_THAT_FITS = "a" * (57 - len(SUFFIX))

NAMES = {
    "a short one": ("web", 5, "web-v5-3f9c012345"),
    "its number, however long": ("web", 1234, "web-v1234-3f9c012345"),
    "the longest that fits": (LONGEST_THAT_FITS, 5, LONGEST_THAT_FITS + SUFFIX),
    "one character more is cut and hashed": ("a" * 44, 5, "a" * 34 + "-16849877" + SUFFIX),
    "no dash is left where it is cut": ("a" * 33 + "-" + "b" * 20, 5, "a" * 33 + "-c90ee561" + SUFFIX),
}


@pytest.mark.parametrize("name", NAMES)
def test_replica_set_is_named(name):
    app, number, expected = NAMES[name]
    assert names.replica_set_name(AppKey("shop", app), number, DIGEST) == expected


LONG = ["a" * length for length in range(40, 64)] + ["a" * 60 + "-" + letter for letter in "bc"]


def test_every_name_fits_is_a_dns_label_and_tells_its_version():
    for app in (AppKey("shop", each) for each in LONG):
        name = names.replica_set_name(app, 987, DIGEST)
        assert len(name) <= 57
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)
        assert names.short_digest_in(app, name) == "3f9c012345"
        assert names.is_of_version(app, DIGEST, f"{name}-")


def test_different_apps_and_versions_have_different_names():
    digests = (DIGEST, "v1:" + "0" * 64)
    of = {names.replica_set_name(AppKey("shop", app), 5, digest) for app in LONG for digest in digests}
    assert len(of) == 2 * len(LONG)


OF_VERSION = {
    "web-v5-3f9c012345": True,
    "web-v6-3f9c012345": True,
    "web-v1234-3f9c012345": True,
    "web-primary-3f9c012345": False,
    "web-v5-0123456789": False,
    "web-v0-3f9c012345": False,
    "web-v05-3f9c012345": False,
    "web-v-3f9c012345": False,
    "web-preview-3f9c012345": False,
    "web-v5-3f9c01234": False,
    "web-v5-3f9c012345a": False,
    "web-v5-3f9c012345\n": False,
    "shop-v5-3f9c012345": False,
    "web-v5-v5-3f9c012345": False,
    "web-primary-v5-3f9c012345": False,
    "my-web-v5-3f9c012345": False,
    "web": False,
    "": False,
}


@pytest.mark.parametrize("name", OF_VERSION, ids=repr)
def test_name_of_a_version_is_known_and_so_are_its_pods(name):
    web = AppKey("shop", "web")
    assert names.is_of_version(web, DIGEST, name) is OF_VERSION[name]
    assert names.is_of_version(web, DIGEST, f"{name}-") is OF_VERSION[name]
    assert not names.is_of_version(web, DIGEST, f"{name}--")
    assert names.is_of_version(web, "3f9c012345", name) is OF_VERSION[name], "a short digest does as well"
    assert not names.is_of_version(web, "", name)


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


def test_job_of_a_long_metric_has_a_name_of_63_characters():
    measured = MeasurementId("5eed", 3, AnalysisStage.PRE, 1, "m" * 60, 0)
    assert names.job_name(AppKey("shop", "web"), measured) == f"web-pre-{'m' * 44}-f61ffea2ba"

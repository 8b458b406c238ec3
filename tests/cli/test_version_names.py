"""Versions have the names that people see: numbers, tags, digests; what fits several is refused with all of them."""

from __future__ import annotations

import pytest

from gitops_bg.cli.errors import ObjectNotFound, UsageError
from gitops_bg.cli.options.values import NamedVersion, a_version_name, the_one
from gitops_bg.cli.repository.proposals import one_name

IMAGE = "registry.example.com:5000/shop/web"
OLD = NamedVersion(3, "v1:3f9c" + "0" * 60, (f"{IMAGE}:1.2.0", "proxy:2.0"))
LIVE = NamedVersion(4, "v1:77aa" + "0" * 60, (f"{IMAGE}:1.3.0@sha256:" + "ab12" * 16, "proxy:2.0"))
ODD = NamedVersion(12, "v1:1234" + "0" * 60, (f"{IMAGE}:v4", "proxy:3"))
UNREAD = NamedVersion(None, "v1:9999" + "0" * 60)
ALL = (OLD, LIVE, ODD, UNREAD)

NAMES = {
    "3": OLD,
    "v3": OLD,
    "4": LIVE,
    "1.2.0": OLD,
    "1.3.0": LIVE,
    f"{IMAGE}:1.2.0": OLD,
    f"{IMAGE}:1.3.0": LIVE,
    LIVE.images[0]: LIVE,
    "3f9c": OLD,
    "v1:77aa": LIVE,
    LIVE.digest: LIVE,
    "sha256:ab12": LIVE,
    "ab12ab12": LIVE,
    "1234": ODD,
    "9999": UNREAD,
    "proxy:3": ODD,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_version_is_meant_by_each_of_its_names(name: str) -> None:
    assert the_one(name, ALL, "shop/web") == NAMES[name]


UNKNOWN = ["5", "v5", "1.2", "77a", "v1:77", "5000", IMAGE, "sha256:ffff", "2.1"]


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_fits_none_is_not_found_and_all_are_listed(name: str) -> None:
    with pytest.raises(ObjectNotFound, match=r"shop/web has no version .*; it has 1.2.0 \(v3\)") as caught:
        the_one(name, ALL, "shop/web")
    assert "1.2.0 (v3), 1.3.0 (v4), v4 (v12), 9999000000" in str(caught.value)


@pytest.mark.parametrize(("name", "fits"), [("v4", (LIVE, ODD)), ("2.0", (OLD, LIVE))])
def test_what_fits_several_is_refused_with_all_of_them(name: str, fits: tuple[NamedVersion, ...]) -> None:
    with pytest.raises(UsageError, match="is ambiguous for shop/web") as caught:
        the_one(name, ALL, "shop/web")
    assert ", ".join(map(str, fits)) in str(caught.value)


def test_the_same_version_twice_is_one() -> None:
    assert the_one("1.2.0", (OLD, OLD), "shop/web") == OLD


def test_an_app_without_versions_says_no_more_than_that() -> None:
    with pytest.raises(ObjectNotFound, match=r"shop/web has no version 4$"):
        the_one("4", (), "shop/web")


def test_a_name_has_no_spaces() -> None:
    with pytest.raises(UsageError, match="'v 4' names no version"):
        a_version_name("v 4")


def test_the_former_name_of_an_option_says_the_same_but_not_both() -> None:
    assert one_name("", "4", "--to-version") == one_name("4", "", "--to-version") == "4"
    with pytest.raises(UsageError, match="--to and --to-version are the same"):
        one_name("4", "4", "--to-version")

"""Links to a commit: in the form of its forge where that is known, and without the credentials of the remote."""

from __future__ import annotations

import doctest

import pytest

from gitops_bg.forge import connect
from gitops_bg.forge.address import commit_url

SHA = "645138c7f91372dbaa319adbdd8db49bbecf95ee"


@pytest.mark.parametrize(
    ("remote", "settings", "page"),
    [
        ("https://github.com/shop/config.git", {}, "https://github.com/shop/config/commit/"),
        ("git@github.com:shop/config.git", {}, "https://github.com/shop/config/commit/"),
        ("ssh://git@altssh.gitlab.com:443/a/b/config.git", {}, "https://gitlab.com/a/b/config/-/commit/"),
        ("https://codeberg.org/shop/config", {}, "https://codeberg.org/shop/config/commit/"),
        ("https://shop.ghe.com/shop/config.git", {}, "https://shop.ghe.com/shop/config/commit/"),
        ("https://bot:s3cret@github.com/shop/config.git", {}, "https://github.com/shop/config/commit/"),
        (
            "https://bot:s3cret@git.test:8443/shop/config",
            {"kind": "gitea"},
            "https://git.test:8443/shop/config/commit/",
        ),
        ("git@git.test:a/b/config.git", {"kind": "gitlab"}, "https://git.test/a/b/config/-/commit/"),
        ("git@git.test:shop/config.git", {"kind": "forgejo"}, "https://git.test/shop/config/commit/"),
        (
            "https://git.test/code/shop/config.git",
            {"kind": "gitea", "address": "https://git.test/code/api/v1"},
            "https://git.test/code/shop/config/commit/",
        ),
        ("git@mirror:m.git", {"address": "https://github.com/shop/config"}, "https://github.com/shop/config/commit/"),
        ("https://github.com/shop/a config.git", {}, "https://github.com/shop/a%20config/commit/"),
        ("https://git.test/shop/config.git", {}, None),  # which forge it is would have to be asked
        ("https://github.com/a/b/c.git", {}, None),  # no repository of that forge
        ("https://git.test/shop/config.git", {"kind": "gitea", "address": "no address"}, None),
        ("/srv/git/config.git", {"kind": "gitea"}, None),
    ],
)
def test_the_page_of_a_commit(remote: str, settings: dict[str, str], page: str | None) -> None:
    assert commit_url(remote, SHA, **settings) == (f"{page}{SHA}" if page else "")


def test_examples_are_true() -> None:
    assert doctest.testmod(connect).failed == 0

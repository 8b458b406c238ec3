"""Which forge a remote is on, where its API is, and what the repository is called there."""

from __future__ import annotations

import json

import pytest

from gitops_bg.forge.address import ForgeKind, NoForge, Place, known, place_from_settings, probed, remote_of
from gitops_bg.outbound.http import HttpAnswer

GITHUB = Place(ForgeKind.GITHUB, "https://api.github.com", "shop", "config")


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/shop/config.git",
        "https://github.com/shop/config/",
        "https://bot:tok@GitHub.com:443/shop/config",
        "git@github.com:shop/config.git",
        "ssh://git@github.com/shop/config.git",
        "ssh://git@ssh.github.com:443/shop/config.git",
        "https://www.github.com/shop/config",
    ],
)
def test_github_is_known_however_it_is_reached(url: str):
    assert known(remote_of(url)) == GITHUB


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("git@gitlab.com:a/b/config.git", Place(ForgeKind.GITLAB, "https://gitlab.com/api/v4", "a/b", "config")),
        ("ssh://git@altssh.gitlab.com:443/a/c.git", Place(ForgeKind.GITLAB, "https://gitlab.com/api/v4", "a", "c")),
        ("https://codeberg.org/shop/config", Place(ForgeKind.GITEA, "https://codeberg.org/api/v1", "shop", "config")),
        ("https://acme.ghe.com/shop/config", Place(ForgeKind.GITHUB, "https://api.acme.ghe.com", "shop", "config")),
        ("https://git.example.com/shop/config", None),
        ("https://github.com.example.com/shop/config", None),
    ],
)
def test_others_are_known_by_their_host(url: str, place: Place | None):
    assert known(remote_of(url)) == place


@pytest.mark.parametrize(
    "url", ["/srv/git/config.git", "file:///srv/config.git", "./config", "ftp://a/b/c", "https:///x"]
)
def test_a_path_of_this_machine_is_on_no_forge(url: str):
    assert remote_of(url) is None


@pytest.mark.parametrize(
    ("kind", "url", "remote", "place"),
    [
        (
            "github",
            "https://ghe.test",
            "git@ghe.test:a/b.git",
            Place(ForgeKind.GITHUB, "https://ghe.test/api/v3", "a", "b"),
        ),
        (
            "github",
            "https://ghe.test/api/v3",
            "git@ghe.test:a/b",
            Place(ForgeKind.GITHUB, "https://ghe.test/api/v3", "a", "b"),
        ),
        ("github", "https://api.github.com", "git@mirror:shop/config", GITHUB),
        ("github", "", "git@mirror-of:a/b", Place(ForgeKind.GITHUB, "https://mirror-of/api/v3", "a", "b")),
        ("gitlab", "", "https://git.test/a/b/c.git", Place(ForgeKind.GITLAB, "https://git.test/api/v4", "a/b", "c")),
        (
            "gitlab",
            "https://git.test:8443/gitlab/",
            "https://git.test:8443/gitlab/a/b/c.git",
            Place(ForgeKind.GITLAB, "https://git.test:8443/gitlab/api/v4", "a/b", "c"),
        ),
        (
            "gitea",
            "https://git.test/code",
            "ssh://git@git.test:2222/a/b.git",
            Place(ForgeKind.GITEA, "https://git.test/code/api/v1", "a", "b"),
        ),
        (
            "gitlab",
            "https://gitlab.com/a/b/c",
            "git@mirror:x/y",
            Place(ForgeKind.GITLAB, "https://gitlab.com/api/v4", "a/b", "c"),
        ),
        ("github", "https://github.com/shop/config.git", "git@mirror:x/y/z", GITHUB),
        ("forgejo", "", "http://10.0.0.7:3000/a/b", Place(ForgeKind.GITEA, "http://10.0.0.7:3000/api/v1", "a", "b")),
        ("gitea", "", "https://[fd00::7]:3000/a/b", Place(ForgeKind.GITEA, "https://[fd00::7]:3000/api/v1", "a", "b")),
    ],
)
def test_settings_name_the_forge(kind: str, url: str, remote: str, place: Place):
    assert place_from_settings(kind, url, remote_of(remote)) == place


@pytest.mark.parametrize(
    ("kind", "url", "remote", "words"),
    [
        ("bitbucket", "", "git@git.test:a/b", "bitbucket.*github, gitlab, gitea, forgejo"),
        ("gitea", "git.test", "git@git.test:a/b", "https://git.example.com"),
        ("gitea", "https://me:tok@git.test", "git@git.test:a/b", "no address"),
        ("gitea", "", "https://git.test/code/a/b", "folder of its server.*forge.url"),
        ("github", "", "git@git.test:b", "OWNER/NAME"),
    ],
)
def test_settings_that_cannot_be_say_what_would_be_right(kind: str, url: str, remote: str, words: str):
    with pytest.raises(NoForge, match=words):
        place_from_settings(kind, url, remote_of(remote))


class TestAsked:
    """A server that nobody knows is asked what it is."""

    def asked(self, remote: str, answers: dict[str, tuple[int, object]]) -> Place:
        def ask(url: str) -> HttpAnswer | None:
            if url not in answers:
                return HttpAnswer(url, 404, b"<html>not found</html>")
            status, data = answers[url]
            return HttpAnswer(url, status, json.dumps(data).encode())

        return probed(remote_of(remote), ask)

    def test_a_gitea(self):
        answers = {"https://git.test/api/v1/version": (200, {"version": "1.26.0"})}
        assert self.asked("git@git.test:a/b", answers) == Place(ForgeKind.GITEA, "https://git.test/api/v1", "a", "b")

    def test_a_gitea_in_a_folder(self):
        answers = {"https://git.test/code/api/v1/version": (200, {"version": "9.0.0+gitea-1.22.0"})}
        place = Place(ForgeKind.GITEA, "https://git.test/code/api/v1", "a", "b")
        assert self.asked("https://git.test/code/a/b.git", answers) == place

    @pytest.mark.parametrize(
        "answer", [(200, {"version": "17.9", "revision": "x"}), (401, {"message": "401 Unauthorized"})]
    )
    def test_a_gitlab_says_so_also_to_strangers(self, answer: tuple[int, object]):
        answers = {"https://git.test/api/v4/version": answer}
        place = Place(ForgeKind.GITLAB, "https://git.test/api/v4", "a/b", "c")
        assert self.asked("https://git.test/a/b/c.git", answers) == place

    def test_a_github_of_one_s_own(self):
        answers = {"https://git.test/api/v3/meta": (200, {"installed_version": "3.14.2"})}
        assert self.asked("git@git.test:a/b", answers) == Place(ForgeKind.GITHUB, "https://git.test/api/v3", "a", "b")

    def test_a_server_that_says_nothing_is_named_with_the_remedy(self):
        with pytest.raises(NoForge, match=r"https://git\.test does not say.*forge: \{type"):
            self.asked("git@git.test:a/b", {})

    def test_a_server_that_cannot_be_reached_is_no_forge_yet(self):
        with pytest.raises(NoForge):
            probed(remote_of("git@git.test:a/b"), lambda _: None)

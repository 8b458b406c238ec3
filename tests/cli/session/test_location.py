"""Which repository, branch and ledger a verb is about: live objects say it first, then options, then files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import GitOptions
from gitops_bg.cli.session.location import (
    ALL,
    About,
    Location,
    apps_named,
    assumed,
    demand_named,
    group_named,
    locations,
)
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import Forbidden, KindMissing, NoAccess, NotFound
from gitops_bg.cluster.api.kinds import Kind
from gitops_bg.cluster.manifests.stored_record import packed
from gitops_bg.core import names
from gitops_bg.core.errors import GitopsBgError, Transient

SHOP = "git.example.com/shop/config"
URL = f"https://{SHOP}.git"
Place = tuple[str, str, str] | None


class Live:
    """A cluster with objects that follow a repository, a cluster and a branch; None: one that says none.

    With an error it says that when all of a kind are asked for: of one namespace only where that is no missing right.
    """

    def __init__(self, error: GitopsBgError | None = None, **follows: Place) -> None:
        self._bodies = {name.replace("__", "/"): _body(name, place) for name, place in follows.items()}
        self._error = error

    def get(self, _: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        return self._bodies.get(f"{namespace}/{name}")

    def list(self, _: Kind, namespace: str) -> list[dict[str, Any]]:
        if self._error is not None and not (namespace and isinstance(self._error, Forbidden)):
            raise self._error
        return [each for each in self._bodies.values() if namespace in ("", each["metadata"]["namespace"])]


def _body(called: str, place: Place) -> dict[str, Any]:
    namespace, name = called.split("__")
    keys = (names.REPOSITORY, names.CLUSTER, names.BRANCH)
    said = {key: text for key, text in zip(keys, place or (), strict=False) if text}
    record = {"record": packed({"git": {"main": {"commit": "a" * 40}}})}
    return {"metadata": {"namespace": namespace, "name": name, "annotations": said}, "status": record}


PROD, STAGING = (SHOP, "prod", "main"), (SHOP, "staging", "staging")
BOTH = Live(shop__web=PROD, later__web=STAGING, later__api=STAGING)


def found(
    live: Live, about: About = ALL, git: GitOptions | None = None, settings: GitOptions | None = None
) -> Location:
    git = git or GitOptions()
    (location,) = locations(git, settings or git, lambda: cast("Client", live), about)
    return location


@pytest.fixture(autouse=True)
def _outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("typed", "place"),
    [("shop/web", PROD), ("later/web", STAGING), ("api", STAGING)],
    ids=["main", "a branch", "a name that only one has"],
)
def test_a_named_app_says_all_three(typed: str, place: tuple[str, str, str]) -> None:
    location = found(BOTH, apps_named(typed))
    assert (location.git.repo, location.git.cluster, location.git.branch) == (URL, *place[1:])
    assert (location.follows.cluster, location.witness) == (place[1], "")


def test_so_does_a_group() -> None:
    assert found(Live(shop__store=STAGING), group_named("shop/store")).git.branch == "staging"


def test_a_name_that_means_two_places_is_to_be_told_in_full() -> None:
    with pytest.raises(UsageError, match=r"shop/web follows branch main .* later/web .* in full"):
        found(BOTH, apps_named("web"))
    with pytest.raises(UsageError, match="in a command of its own"):
        found(BOTH, apps_named("shop/web", "later/api"))


@pytest.mark.parametrize("given", [GitOptions(branch="main"), GitOptions(cluster="prod")], ids=["branch", "cluster"])
def test_an_option_that_contradicts_is_refused(given: GitOptions) -> None:
    with pytest.raises(UsageError, match=r"--(branch main|cluster prod) \(or GITOPS_BG_"):
        found(BOTH, apps_named("later/web"), given)


def test_a_file_contradicts_nobody() -> None:
    assert found(BOTH, apps_named("later/web"), settings=GitOptions(branch="main")).git.branch == "staging"


def test_another_repository_is_refused_unless_it_has_what_the_app_was_decided_from() -> None:
    location = found(BOTH, apps_named("shop/web"), GitOptions(repo="/srv/other.git"))
    assert (location.git.repo, location.git.branch, location.witness) == ("/srv/other.git", "main", "a" * 40)
    assert "/srv/other is another repository" in location.otherwise


def test_the_repository_is_the_same_by_ssh() -> None:
    location = found(BOTH, apps_named("shop/web"), GitOptions(repo="git@git.example.com:shop/config.git"))
    assert (location.git.repo, location.witness) == ("git@git.example.com:shop/config.git", "")
    assert found(Live(shop__web=PROD), git=GitOptions(ssh_key_file=Path("key"))).git.repo.startswith("ssh://git@git.")


def test_all_apps_are_asked_about_where_they_agree_or_an_option_says_which() -> None:
    assert found(Live(shop__web=PROD, old__app=None)).git.cluster == "prod"
    assert found(BOTH, git=GitOptions(cluster="staging")).git.branch == "staging"
    assert found(BOTH, settings=GitOptions(branch="staging")).git.cluster == "staging"
    assert found(BOTH, About(namespace="shop")).git.branch == "main"
    with pytest.raises(UsageError, match=r"the apps here follow branch main .*; branch staging"):
        found(BOTH)


def test_a_ledger_that_no_app_here_has_is_that_of_the_option() -> None:
    assert found(BOTH, git=GitOptions(cluster="gone")) == Location(GitOptions(cluster="gone"))


def test_a_branch_that_no_app_follows_is_asked_about_as_if_it_were_the_deployed_one() -> None:
    location = found(Live(shop__web=PROD), git=GitOptions(branch="my-change"))
    assert (location.git.branch, location.git.cluster, location.follows.cluster) == ("my-change", "prod", "prod")
    assert found(BOTH, git=GitOptions(branch="my-change")) == Location(GitOptions(branch="my-change"))
    question = replace(group_named("shop/store"), if_branch=True)
    assert found(Live(shop__store=PROD), question, GitOptions(branch="my-change")).git.branch == "my-change"


def test_an_app_that_is_not_live_yet_is_where_its_namespace_is() -> None:
    assert found(BOTH, apps_named("later/new")).git.branch == "staging"
    assert found(Live(shop__web=STAGING), apps_named("empty/new")).git.branch == "staging"
    assert found(BOTH, apps_named("empty/new")) == Location(GitOptions())


def test_a_token_and_a_signature_are_not_sent_to_what_an_app_names() -> None:
    for git in (GitOptions(git_token_file=Path("token")), GitOptions(signing_key=Path("key"))):
        with pytest.raises(UsageError, match="goes only where you say: --repo https"):
            found(BOTH, apps_named("shop/web"), git)


def test_where_no_app_names_a_place_the_options_count() -> None:
    settings = GitOptions(repo=URL, branch="next")
    for about in (ALL, apps_named("shop/web")):
        assert found(Live(shop__web=None), about, settings=settings) == Location(settings)


def test_a_cluster_that_does_not_know_the_kind_has_no_apps() -> None:
    for missing in (KindMissing("it does not know BlueGreenDeployments"), NotFound("it has no such kind")):
        assert found(Live(missing)) == Location(GitOptions())


SILENT, NOBODY = Transient("list apps: it does not answer"), NoAccess("there is no kubeconfig")


def test_where_the_cluster_cannot_be_asked_the_options_count_and_what_is_assumed_is_said() -> None:
    for about in (ALL, apps_named("shop/web")):
        location = found(Live(SILENT), about, settings=GitOptions(repo=URL, branch="next"))
        assert (location.git.branch, location.unasked) == ("next", SILENT)
    location = found(Live(SILENT), apps_named("shop/web"))
    said = assumed(location, apps_named("shop/web"), "main", "prod")
    assert said.startswith("what shop/web follows could not be asked: list apps: it does not answer; ")
    assert "branch main and cluster prod assumed" in said
    assert "what the agent follows" in assumed(location, ALL, "main", "prod")


ASSUMED = {
    "nothing was said": (GitOptions(), "branch main and cluster prod"),
    "the branch was": (GitOptions(branch="main"), "; cluster prod assumed"),
    "the cluster was": (GitOptions(cluster="prod"), "; branch main assumed"),
    "both were": (GitOptions(branch="main", cluster="prod"), ""),
}


@pytest.mark.parametrize(("git", "said"), ASSUMED.values(), ids=ASSUMED)
def test_what_somebody_said_is_not_assumed(git: GitOptions, said: str) -> None:
    found_ = assumed(Location(git, unasked=SILENT), ALL, "main", "prod")
    assert (said in found_) if said else not found_


def test_no_commit_is_made_at_a_place_that_a_silent_cluster_may_contradict() -> None:
    with pytest.raises(UsageError, match=r"--branch: which branch shop/web follows could not be asked: list apps"):
        demand_named(Location(GitOptions(), unasked=SILENT), apps_named("shop/web"))
    demand_named(Location(GitOptions(branch="main"), unasked=SILENT), ALL)
    demand_named(Location(GitOptions(), unasked=NOBODY), ALL)
    demand_named(Location(GitOptions()), ALL)


def test_who_may_see_one_namespace_alone_is_told_of_no_others() -> None:
    """A new app in it is at the place that options say; no other namespace is theirs to ask."""
    assert found(Live(Forbidden("not all of them")), apps_named("empty/new")) == Location(GitOptions())


def test_in_a_repository_of_another_name_each_place_is_looked_at_for_its_content() -> None:
    git = GitOptions(repo="/srv/mirror.git")
    several = locations(git, git, lambda: cast("Client", BOTH), ALL)
    assert [(each.git.branch, each.witness, each.otherwise) for each in several] == [
        ("main", "a" * 40, ""),
        ("staging", "a" * 40, ""),
        ("", "", ""),
    ]

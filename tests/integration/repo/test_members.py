"""Members of release groups in Git: which apps they are, where they lie, and what is written there."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.read import changes
from gitops_bg.repo.read.app_index import UNKNOWN
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from tests.fixtures.repos import texts
from tests.integration.repo.conftest import API, WEB, Opener, change
from tests.support.git.remote import GitRemote

CART, NEXT = AppKey("shop", "cart-v1"), AppKey("shop", "cart-v2")
FOLDER = "groups/shop/store/v1/cart"


def target(folder: str = FOLDER, tag: str = "1.0.0", name: str = "cart-v1") -> dict[str, str]:
    return {f"{folder}/target.yaml": texts.target("shop", name, tag).decode()}


@pytest.fixture
def with_cart(repository: Repository, remote: GitRemote) -> Repository:
    """A Repository that has seen one member of one group."""
    remote.publish("v1", {"groups/shop/store/group.yaml": "kind: ReleaseGroup\n", **target()})
    repository.poll()
    return repository


class TestTheIndex:
    def test_every_service_of_every_version_is_an_app(self, repository: Repository, remote: GitRemote) -> None:
        remote.publish(
            "Two versions", {**target(), **target("groups/shop/store/v12/cart"), **target("groups/pay/a/v1/b")}
        )
        poll = repository.poll()
        found = {CART, AppKey("shop", "cart-v12"), AppKey("pay", "b-v1")}
        assert (poll.changed, poll.apps) == (found, 5)
        assert repository.places.folder(CART) == FOLDER
        assert repository.places.folder(WEB) == "apps/shop/web"
        assert set(repository.files(CART)) == {"target.yaml"}

    @pytest.mark.parametrize(
        "path",
        [
            "groups/shop/store/v01/cart/target.yaml",
            "groups/shop/store/two/cart/target.yaml",
            "groups/shop/store/v1/target.yaml",
            "groups/shop/store/v1/cart/more/target.yaml",
            "groups/shop/store/v2/Cart/target.yaml",
            f"groups/shop/store/v2/{'c' * 61}/target.yaml",
        ],
    )
    def test_other_folders_are_no_apps(self, with_cart: Repository, remote: GitRemote, path: str) -> None:
        remote.publish("Odd", {path: "a: 1"})
        assert with_cart.poll().apps == 3
        assert set(with_cart.apps()) == {WEB, API, CART}

    def test_a_change_of_a_member_is_reported_as_its_own(self, with_cart: Repository, remote: GitRemote) -> None:
        remote.publish("v2", target("groups/shop/store/v2/cart", name="cart-v2"))
        assert with_cart.poll().changed == {NEXT}
        remote.publish("fix", target(tag="1.0.1"))
        assert with_cart.poll().changed == {CART}
        remote.publish("of the group", {"groups/shop/store/group.yaml": "kind: Other\n"})
        poll = with_cart.poll()
        assert (poll.changed, poll.removed, poll.others_changed) == (frozenset(), frozenset(), {"groups"})

    def test_a_member_that_left_is_removed_and_its_folder_still_known(
        self, with_cart: Repository, remote: GitRemote
    ) -> None:
        remote.remove("groups/shop/store/v1")
        remote.commit("v1 is over")
        remote.push()
        poll = with_cart.poll()
        assert (poll.removed, with_cart.files(CART)) == ({CART}, {})
        assert with_cart.places.folder(CART) == FOLDER

    def test_a_member_may_move_to_another_group(self, with_cart: Repository, remote: GitRemote) -> None:
        remote.run("mv", "groups/shop/store", "groups/shop/market")
        remote.publish("Rename the group", target("groups/shop/market/v1/cart", "1.0.1"))
        poll = with_cart.poll()
        assert (poll.changed, poll.removed) == ({CART}, frozenset())
        assert with_cart.places.folder(CART) == "groups/shop/market/v1/cart"
        assert b":1.0.1" in bytes(with_cart.files(CART)["target.yaml"])  # type: ignore[arg-type]


def link(remote: GitRemote, path: str, to: str = "elsewhere") -> None:
    """Put a link in place of a folder, if there is one, and push it."""
    if (remote.clone / path).exists():
        remote.remove(path)
    (remote.clone / path).parent.mkdir(parents=True, exist_ok=True)
    (remote.clone / path).symlink_to(to)
    remote.run("add", path)
    remote.commit("Link")
    remote.push()


@pytest.fixture
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most four places of one level are followed."""
    monkeypatch.setattr(changes, "MOST_PLACES", 4)


ABOVE = ["groups", "groups/shop", "groups/shop/store", "groups/shop/store/v1"]


class TestWhatIsUnknownIsNotRemoved:
    @pytest.mark.parametrize("place", ABOVE)
    def test_a_link_above_a_member_hides_it(self, with_cart: Repository, remote: GitRemote, place: str) -> None:
        link(remote, place)
        poll = with_cart.poll()
        assert (poll.changed, poll.removed, with_cart.apps()[CART]) == ({CART}, frozenset(), UNKNOWN)
        assert poll.hidden.apps[CART].file == place
        remote.remove(place)
        remote.commit("No link")
        remote.push()
        poll = with_cart.poll()
        assert (poll.removed, bool(poll.hidden)) == ({CART}, False)

    @pytest.mark.parametrize("place", ABOVE)
    def test_a_process_that_never_saw_the_member_does_not_take_it_for_absent(
        self, with_cart: Repository, remote: GitRemote, opened: Opener, place: str
    ) -> None:
        link(remote, place)
        hidden = opened(mirror="fresh").poll().hidden
        assert hidden.may_hide(CART) is not None
        assert hidden.may_hide(AppKey("shop", "cart")) is None, "that is no name of a member"
        assert (hidden.may_hide(AppKey("shop", "cart-v2")) is None) == place.endswith("v1")
        assert (hidden.may_hide(AppKey("pay", "cart-v1")) is None) == (place != "groups")

    @pytest.mark.parametrize("place", ["groups/shop/store/v1", FOLDER, "groups/shop/store/v2"])
    def test_a_link_in_a_group_is_among_its_files(self, with_cart: Repository, remote: GitRemote, place: str) -> None:
        link(remote, place)
        with_cart.poll()
        found = with_cart.files_below("groups/shop/store")[place]
        assert "is a symbolic link" in str(found.content)

    @pytest.mark.parametrize("folder", ["policies", "analysis"])
    def test_a_link_in_place_of_a_folder_is_its_only_file(
        self, with_cart: Repository, remote: GitRemote, folder: str
    ) -> None:
        remote.publish("A file", {f"{folder}/a.yaml": "a: 1"})
        with_cart.poll()
        link(remote, folder)
        with_cart.poll()
        assert {path: "link" in str(file.content) for path, file in with_cart.files_below(folder).items()} == {
            folder: True
        }

    def test_a_link_to_a_text_is_no_file(self, with_cart: Repository, remote: GitRemote) -> None:
        link(remote, "policies/README.md")
        with_cart.poll()
        assert with_cart.files_below("policies") == {}

    def test_a_link_in_place_of_a_member_is_the_member(self, with_cart: Repository, remote: GitRemote) -> None:
        link(remote, FOLDER)
        poll = with_cart.poll()
        assert (poll.changed, poll.removed) == ({CART}, frozenset())
        assert "is a symbolic link" in str(with_cart.files(CART)["target.yaml"])
        assert [problem.file for problem in with_cart.misplaced()] == [FOLDER]

    @pytest.mark.usefixtures("few_places")
    def test_more_folders_than_are_followed_hide_all_members_and_remove_none(
        self, with_cart: Repository, remote: GitRemote
    ) -> None:
        remote.publish("Crowd", {f"groups/shop/store/v1/s{number}/app.yaml": "a: 1" for number in range(5)})
        poll = with_cart.poll()
        assert (poll.changed, poll.removed, with_cart.apps()[CART]) == ({CART}, frozenset(), UNKNOWN)
        assert (poll.hidden.apps[CART].file, set(with_cart.apps())) == ("groups", {WEB, API, CART})
        assert [problem.file for problem in with_cart.misplaced()] == ["groups"]
        remote.publish("web goes on", {"apps/shop/web/target.yaml": "a: 1"})
        poll = with_cart.poll()
        assert (poll.changed, poll.removed) == ({WEB}, frozenset())
        for number in range(5):
            remote.remove(f"groups/shop/store/v1/s{number}")
        remote.commit("No crowd")
        remote.push()
        poll = with_cart.poll()
        assert (poll.changed, poll.removed, bool(poll.hidden)) == ({CART}, frozenset(), False)

    def test_an_app_in_two_places_is_unknown_until_one_of_them_goes(
        self, with_cart: Repository, remote: GitRemote
    ) -> None:
        remote.publish("Twice", texts_of(texts.folder("shop", "cart-v1")))
        poll = with_cart.poll()
        assert (poll.changed, poll.removed, with_cart.apps()[CART]) == ({CART}, frozenset(), UNKNOWN)
        problem = poll.hidden.apps[CART]
        assert problem.file == "apps/shop/cart-v1"
        assert FOLDER in problem.message
        remote.remove("apps/shop/cart-v1")
        remote.commit("Once")
        remote.push()
        poll = with_cart.poll()
        assert (poll.changed, bool(poll.hidden)) == ({CART}, False)
        assert with_cart.places.folder(CART) == FOLDER


def texts_of(files: Mapping[str, bytes]) -> dict[str, str]:
    return {path: content.decode() for path, content in files.items()}


def test_what_can_be_no_member_is_named_with_a_remedy(with_cart: Repository, remote: GitRemote) -> None:
    long = "c" * 61
    remote.publish("Stray", {
        "groups/stray.yaml": "a: 1",
        "groups/shop/stray.yaml": "a: 1",
        "groups/shop/store/v2/Upper/target.yaml": "a: 1",
        f"groups/shop/store/v2/{long}/target.yaml": "a: 1",
        "groups/Bad/store/group.yaml": "a: 1",
        "groups/shop/store/docs/README.md": "fine",
        "groups/README.md": "fine",
    })  # fmt: skip
    with_cart.poll()
    found = {problem.file: problem for problem in with_cart.misplaced()}
    assert set(found) == {
        "groups/stray.yaml",
        "groups/shop/stray.yaml",
        "groups/shop/store/v2/Upper",
        f"groups/shop/store/v2/{long}",
        "groups/Bad",
    }
    assert all(problem.remedy for problem in found.values())


class TestWriting:
    def test_a_promotion_is_committed_into_the_folder_of_the_member(
        self, with_cart: Repository, remote: GitRemote
    ) -> None:
        wanted = change(with_cart, app=CART)
        outcome = with_cart.promotions.commit([wanted])[CART]
        assert remote.show("main", f"{FOLDER}/primary.yaml") == wanted.content.decode()
        assert with_cart.poll().changed == {CART}
        assert with_cart.primary_at(CART, outcome.commit) == wanted.content
        assert list(with_cart.primaries(CART)) == [wanted.content]
        assert with_cart.landings([(CART, "primary.yaml")])[CART, "primary.yaml"].commit == outcome.commit

    def test_a_promotion_is_offered_on_the_branch_of_the_app(self, with_cart: Repository, remote: GitRemote) -> None:
        with_cart.promotions.offer([change(with_cart, app=CART)])
        branch = "gitops-bg/promote/shop/cart-v1"
        assert remote.show(branch, f"{FOLDER}/primary.yaml")
        with_cart.poll()
        offered = with_cart.offers.promotions()[CART]
        assert offered.primary is not None
        assert offered.base_primary is None
        assert with_cart.extra_files_of_offer(CART, offered.commit) == ()
        remote.merge(branch)
        assert with_cart.poll().changed == {CART}

    def test_a_change_of_the_member_since_supersedes_a_promotion(
        self, with_cart: Repository, remote: GitRemote
    ) -> None:
        decided = change(with_cart, app=CART)
        remote.publish("fix", target(tag="1.0.1"))
        assert with_cart.promotions.commit([decided])[CART].result == "superseded"

    def test_a_promotion_that_was_reverted_between_two_polls_is_a_change(
        self, with_cart: Repository, remote: GitRemote
    ) -> None:
        sha = remote.publish("By hand", {f"{FOLDER}/primary.yaml": "a: 1"})
        remote.revert(sha)
        remote.push()
        assert with_cart.poll().changed == {CART}

    def test_the_history_of_a_member_that_left_can_still_be_read(
        self, with_cart: Repository, remote: GitRemote
    ) -> None:
        wanted = change(with_cart, app=CART)
        with_cart.promotions.commit([wanted])
        remote.pull()
        remote.remove("groups/shop/store/v1")
        remote.commit("v1 is over")
        remote.push()
        assert with_cart.poll().removed == {CART}
        assert list(with_cart.primaries(CART)) == [wanted.content]

    def test_authors_are_those_of_the_members_folder(self, with_cart: Repository, remote: GitRemote) -> None:
        before = with_cart.head
        after = remote.publish("fix", target(tag="1.0.1"))
        remote.publish("other", target("groups/shop/store/v2/cart"))
        with_cart.poll()
        facts = with_cart.changes.between(CART, before, with_cart.head)
        assert facts is not None
        assert after in {each.commit for each in facts}
        assert with_cart.changes.wrote_content(CART, before, with_cart.head, after)
        assert not with_cart.changes.wrote_content(CART, before, with_cart.head, with_cart.head)


# --- random histories -----------------------------------------------------------------------------------------

PLACES = [
    "apps/shop/cart-v1",
    "apps/shop/web",
    "apps/shop",
    "groups/shop/store/v1/cart",
    "groups/shop/store/v2/cart",
    "groups/shop/store/v01/cart",
    "groups/shop/other/v1/cart",
    "groups/shop/store/v1",
    "groups/shop/store",
    "groups/shop",
    "groups",
]
STEPS = st.lists(
    st.tuples(st.sampled_from(["file", "file", "file", "link", "submodule", "remove"]), st.sampled_from(PLACES)),
    min_size=1,
    max_size=8,
)
HIDDEN_FOR_A_WHILE = [
    ("file", "store/v1/cart"),
    ("file", "other/v1/cart"),
    ("link", "store/v1"),
    ("file", "store/v1/cart"),
]
MODES = {"file": "100644", "link": "120000", "submodule": "160000"}
MEMBER = re.compile(r"groups/([a-z]+)/[a-z]+/(v[1-9])/([a-z]+)")
APP = re.compile(r"apps/([a-z]+)/([a-z0-9-]+)")

Written = dict[str, tuple[str, int]]
"""What is in main by path: its kind, and which content it has."""


def after(written: Written, what: str, place: str, number: int) -> Written:
    """What a person leaves who puts something, or nothing, in place of whatever was there."""
    kept = {
        path: each
        for path, each in written.items()
        if not path.startswith(f"{place}/") and path != place and not place.startswith(f"{path}/")
    }
    if what == "file":
        beside = {path: each for path, each in written.items() if path.startswith(f"{place}/")}
        return {**kept, **beside, f"{place}/app.yaml": (what, number)}
    return kept if what == "remove" else {**kept, place: (what, number)}


def commit(remote: GitRemote, written: Written, blobs: list[str]) -> None:
    entries = [f"{MODES[what]},{blobs[number % len(blobs)]},{path}" for path, (what, number) in written.items()]
    remote.run("read-tree", "--empty")
    remote.run("update-index", "--add", *(part for entry in entries for part in ("--cacheinfo", entry)))
    remote.commit("A step")
    remote.push()


def naive(remote: GitRemote, before: Mapping[str, int], number: int) -> tuple[dict[AppKey, str], dict[str, int]]:
    """The apps by reading the whole tree, given the folders of apps that were there, each with the step that it has
    been there since; and those that are there now. Of two groups, the one that came first has an app.
    """
    lines = remote.run("ls-tree", "-r", "-t", "main", cwd=remote.bare).splitlines()
    facts = {path: (head.split()[0], head.split()[2]) for head, _, path in (line.partition("\t") for line in lines)}
    there = {path: node for path, (mode, node) in facts.items() if mode != "100644" and app_named(path)}
    odd = {path for path, (mode, _) in facts.items() if mode in (MODES["link"], MODES["submodule"])}
    hidden = {path for path in before - there.keys() if any(path.startswith(f"{each}/") for each in odd)}
    nodes = there | dict.fromkeys(hidden, UNKNOWN)
    since = {path: before.get(path, number) for path in nodes}
    found: dict[AppKey, str] = {}
    for app in filter(None, map(app_named, nodes)):
        first, *others = sorted((path for path in nodes if app_named(path) == app), key=lambda path: since[path])
        told = not others or (MEMBER.fullmatch(first) and all(MEMBER.fullmatch(each) for each in others))
        came_first = not others or since[first] < since[others[0]]
        found[app] = nodes[first] if told and came_first else UNKNOWN
    return found, since


def app_named(path: str) -> AppKey | None:
    if member := MEMBER.fullmatch(path):
        return AppKey(member[1], f"{member[3]}-{member[2]}")
    return AppKey(*app.groups()) if (app := APP.fullmatch(path)) else None


@settings(max_examples=6, deadline=None)
@given(STEPS)
@example([("file", "groups/shop/store/v1/cart"), ("file", "groups/shop/other/v1/cart")])
@example([(what, f"groups/shop/{name}") for what, name in HIDDEN_FOR_A_WHILE])
def test_the_index_agrees_with_a_naive_reading_of_the_tree_after_every_commit(steps: list[tuple[str, str]]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        remote = GitRemote(folder / "git")
        remote.publish("Nothing", {"README.md": "hello", "one": "a: 1", "two": "a: 2"})
        blobs = [remote.run("rev-parse", f"HEAD:{name}") for name in ("one", "two")]
        made = RepositorySettings(url=remote.url, cluster="prod", directory=folder / "mirror")
        with Repository(made) as repository:
            repository.poll()
            known: dict[AppKey, str] = {}
            places: dict[str, int] = {}
            written: Written = {"README.md": ("file", 0)}
            for number, (what, place) in enumerate(steps):
                written = after(written, what, place, number)
                commit(remote, written, blobs)
                poll = repository.poll()
                before, (known, places) = known, naive(remote, places, number)
                assert dict(repository.apps()) == known
                assert poll.removed == before.keys() - known.keys()
                assert poll.changed >= {app for app, node in known.items() if before.get(app) != node}
                assert poll.hidden.apps.keys() == {app for app, node in known.items() if node == UNKNOWN}
                assert all(repository.places.folder(app) in places for app in known)
    finally:
        shutil.rmtree(folder)

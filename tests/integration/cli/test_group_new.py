"""A new version of a group, as people make one: by copying a folder that the agent has written into, or by a verb."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.support.groups import Store
from tests.support.scenario import Scenario
from tests.support.waiting import eventually


@pytest.fixture
def store(world: Scenario) -> Store:
    """Its v1 serves, and the agent has committed what serves into its folders; the clone is up to date."""
    made = Store(world)
    world.start()
    world.publish("The store", {**made.group(), **made.version("v1", cart="/cart", auth="/auth")})
    made.wait("v1A")
    for service in ("cart", "auth"):
        app = world.app(f"{service}-v1")
        app.folder = f"{made.folder}/v1/{service}"
        app.wait_primary("v1")
    world.pull()
    return made


@pytest.fixture
def clone(store: Store, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's clone, which is where the verb is called."""
    monkeypatch.chdir(store.world.remote.clone)
    return Path(store.world.remote.clone)


def with_image(clone: Path, store: Store, version: str) -> None:
    """Change the image of a copied cart, as the page says, and push."""
    target = clone / store.folder / version / "cart" / "target.yaml"
    text = target.read_text()
    assert ":v1" in text
    target.write_text(text.replace(":v1", f":{version}"))
    store.world.remote.run("add", "--all")
    store.world.remote.commit(f"store: {version}")
    store.world.push()


def is_promoted(store: Store, version: str) -> None:
    store.wait(f"v1A {version}C")
    eventually(lambda: store.ask("/cart", version) == f"cart-{version}", what="requests that name it reach it")
    store.world.pull()
    store.activate(version)
    store.wait(f"v1L {version}A")
    assert (store.ask("/cart"), store.ask("/auth")) == (f"cart-{version}", f"auth-{version}")
    own = lambda: store.world.remote.show("main", f"{store.folder}/{version}/cart/primary.yaml") or ""  # noqa: E731
    eventually(lambda: f"name: cart-{version}\n" in own() and f":{version}" in own(), what="main says what serves")


def test_a_copied_folder_is_a_new_version_though_the_agent_wrote_into_the_one_before(
    store: Store, clone: Path, cli: Cli
) -> None:
    """Found so: its services were Invalid for the name in the `primary.yaml` that was copied along, for ever."""
    shutil.copytree(clone / store.folder / "v1", clone / store.folder / "v2")
    assert (clone / store.folder / "v2" / "cart" / "primary.yaml").exists()
    assert "no problem" in cli("check", str(clone))
    with_image(clone, store, "v2")
    is_promoted(store, "v2")


def test_group_new_copies_what_people_wrote(store: Store, clone: Path, cli: Cli) -> None:
    name = f"{store.world.namespace}/store"
    said = cli("group", "new", name, "2")
    assert f"{name}: v2 is a copy of v1: 6 files in {store.folder}/v2/" in said
    written = {each.relative_to(clone / store.folder / "v2").as_posix() for each in clone.rglob("v2/*/*")}
    assert written == {f"{a}/{b}.yaml" for a in ("cart", "auth") for b in ("target", "service", "routes")}
    with_image(clone, store, "v2")
    is_promoted(store, "v2")
    made = cli.json("group", "new", "store", "v3", "--from", "v1", "--service", "cart")
    assert (made["copyOf"], {Path(each).parent.name for each in made["files"]}) == ("v1", {"cart"})


def test_a_version_that_could_not_be_a_candidate_is_not_written(store: Store, clone: Path, cli: Cli) -> None:
    before = store.world.remote.files()
    assert "has a version v1 already: the next one that is free is v2" in cli("group", "new", "store", "v1", code=1)
    assert "the work tree has no files in" in cli("group", "new", "store", "v3", "--from", "v2", code=5)
    assert "has no service web: it has auth, cart" in cli("group", "new", "store", "v3", "--service", "web", code=5)
    assert "has no group other; it has" in cli("group", "new", "other", "v2", code=5)
    group = clone / store.folder / "group.yaml"
    written = group.read_text()
    (clone / store.folder / "v1").rename(clone / store.folder / "v4")
    group.write_text(written.replace("v1", "v4"))
    said = cli("group", "new", "store", "v2", code=1)
    assert "v2 is older than v4, which is active, so that the agent would reject it: write v5" in said
    group.write_text(written)
    (clone / store.folder / "v4").rename(clone / store.folder / "v1")
    routes = clone / store.folder / "v1" / "cart" / "routes.yaml"
    sound = routes.read_text()
    routes.write_text(sound.replace("prefix", "prefixed"))
    said = cli("group", "new", "store", "v2", code=1)
    assert f"{store.folder}/v2/cart/routes.yaml" in said
    assert "nothing was written" in said
    routes.write_text(sound)
    assert store.world.remote.files() == before

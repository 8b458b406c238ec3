"""Unexpected objects and names in place of an app's files and folders: one app's problem."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.attacks.conftest import Siege

FILE, LINK, SUBMODULE = b"100644", b"120000", b"160000"
NOWHERE = b"1" * 40
"""A commit that nobody has, as a submodule's always is."""


@contextmanager
def _pushed(siege: Siege, *entries: tuple[bytes, bytes, bytes], without: tuple[bytes, ...] = ()) -> Iterator[None]:
    """Main has these entries (mode, path, object) until the end, and nothing under the paths in ``without``."""
    git = siege.git
    siege.world.pull()
    before = git.run("write-tree")
    for path in without:
        git.run("rm", "-r", "--quiet", "--cached", path)
    for mode, path, blob in entries:
        git.stage(path, blob, mode)
    tree = git.run("write-tree")
    git.run("reset", "--quiet", "--hard")
    commit = git.commit(b"odd", tree=tree)
    git.run("push", "--quiet", "origin", commit + b":refs/heads/main")
    siege.world.wake()
    try:
        yield
    finally:
        git.run("fetch", "--quiet", "origin")
        head = git.run("rev-parse", "refs/remotes/origin/main")
        git.push(git.commit(b"as it was", tree=before, parents=(head,)))
        siege.world.wake()


PLACES = {
    "target.yaml is a link": (LINK, "target.yaml", "target.yaml: is a symbolic link"),
    "app.yaml is a link": (LINK, "app.yaml", "app.yaml: is a symbolic link"),
    "primary.yaml is a link": (LINK, "primary.yaml", "primary.yaml: is a symbolic link"),
    "target.yaml is a submodule": (SUBMODULE, "target.yaml", "target.yaml: is a submodule"),
    "app.yaml is a submodule": (SUBMODULE, "app.yaml", "app.yaml: is a submodule"),
    "primary.yaml is a submodule": (SUBMODULE, "primary.yaml", "primary.yaml: is a submodule"),
    "a submodule beside them": (SUBMODULE, "lib", "lib: is a submodule"),
    "target.yaml in other letters": (FILE, "Target.yaml", "Target.yaml:"),
    "the folder is a link": (LINK, "", "is a symbolic link"),
    "the folder is a submodule": (SUBMODULE, "", "is a submodule"),
}


@pytest.mark.parametrize("kind", PLACES)
def test_what_is_no_file_is_its_apps_problem_and_traffic_stays(kind: str, siege: Siege) -> None:
    mode, name, said = PLACES[kind]
    web = siege.web
    path = f"{web.folder}/{name}".rstrip("/").encode()
    blob = NOWHERE if mode == SUBMODULE else siege.git.blob(b"../api/target.yaml" if mode == LINK else b"kind: Pod")
    live, primary = web.live_tag(), web.primary_digest()
    there = name in ("", "app.yaml", "target.yaml", "primary.yaml")
    with _pushed(siege, (mode, path, blob), without=(path,) if there else ()):
        assert said in web.wait_condition("InvalidSpec")["message"]
        siege.bystander_goes_on()
        assert web.live_tag() == live
    web.wait_condition("InvalidSpec", "Absent")
    assert (web.live_tag(), web.primary_digest()) == (live, primary)


HIDING = {
    "the namespace is a link": (LINK, "apps/{}", "is a symbolic link"),
    "the namespace is a submodule": (SUBMODULE, "apps/{}", "is a submodule"),
    "the folder of all apps is a link": (LINK, "apps", "is a symbolic link"),
}


@pytest.mark.parametrize("kind", HIDING)
def test_what_hides_apps_does_not_remove_them(kind: str, siege: Siege) -> None:
    """Unknown is not absent, also for an agent that never saw the folder."""
    mode, place, said = HIDING[kind]
    path = place.format(siege.world.namespace)
    blob = NOWHERE if mode == SUBMODULE else siege.git.blob(b"elsewhere")
    apps = (siege.web, siege.api)
    live = [(app.live_tag(), app.primary_digest()) for app in apps]
    with _pushed(siege, (mode, path.encode(), blob), without=(path.encode(),)):
        for restarted in (False, True):
            if restarted:
                siege.world.restart(fresh_mirror=True)
                siege.world.wait_idle()
            for app in apps:
                assert f"{path}: {said}" in app.wait_condition("InvalidSpec")["message"]
                assert app.condition("GitReachable")["status"] == "Absent", "it has not left main"
            assert [app.live_tag() for app in apps] == [tag for tag, _ in live]
    for app in apps:
        app.wait_condition("InvalidSpec", "Absent")
    assert [(app.live_tag(), app.primary_digest()) for app in apps] == live
    siege.bystander_goes_on()


FOLDERS = (
    b"WEB",
    b"Web",
    "we\u2028b".encode(),
    b"caf\xe9",
    b"\xff\xfe",
    b"w\x01b",
    b"w\nb",
    b"-web",
    b"a" * 200,
    b"web ",
)


def test_folders_may_have_any_name(siege: Siege) -> None:
    git, namespace = siege.git, siege.world.namespace.encode()
    siege.world.pull()
    target = git.blob(siege.web.target_yaml("v1").encode())
    entries = [(FILE, b"apps/%s/%s/target.yaml" % (namespace, name), target) for name in FOLDERS]
    entries += [(FILE, b"apps/%s/web/target.yaml" % name, target) for name in FOLDERS]
    with _pushed(siege, *entries):
        siege.bystander_goes_on()


@pytest.mark.parametrize("mode", [LINK, SUBMODULE], ids=["link", "submodule"])
def test_promotion_branch_may_have_anything_where_primary_yaml_is(mode: bytes, siege: Siege) -> None:
    git, web = siege.git, siege.web
    siege.world.pull()
    git.run("rm", "--quiet", "--cached", f"{web.folder}/primary.yaml")
    git.stage(f"{web.folder}/primary.yaml".encode(), NOWHERE if mode == SUBMODULE else git.blob(b"digest: x"), mode)
    commit = git.commit(b"odd")
    git.run("reset", "--quiet", "--hard")
    git.push(commit, f"refs/heads/{web.promotion_branch}".encode())
    siege.world.wake()
    siege.bystander_goes_on()
    tag = f"after-{mode.decode()}"
    web.push_image(tag)
    web.wait_offered(tag)


def test_past_of_primary_yaml_may_have_been_anything(siege: Siege) -> None:
    web, agent = siege.web, siege.world.agent
    assert agent is not None
    path = f"{web.folder}/primary.yaml".encode()
    with _pushed(siege, (SUBMODULE, path, NOWHERE), without=(path,)):
        web.wait_condition("InvalidSpec")
    web.wait_condition("InvalidSpec", "Absent")
    commit = web.promote("later")
    web.revert(commit)
    web.wait_live("v1")
    assert agent.repository.find_primary(web.key, digest=web.digest("v1"))
    assert not agent.repository.find_primary(web.key, digest="v1:" + "0" * 64)


def test_all_of_it_is_outlived_by_a_restart(siege: Siege) -> None:
    siege.outlives_a_restart()

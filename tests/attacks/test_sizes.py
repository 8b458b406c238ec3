"""Input that is much too large, or too much: memory and time are bounded, and its author learns the limit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.attacks.conftest import LARGE, Siege, memory_stays, out_of_the_work_tree

MANY = 20_000
OWN = 3
"""YAML files that the app has anyway."""
OBJECT = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: many}\n"


@contextmanager
def _pushed(siege: Siege, files: Mapping[bytes, bytes]) -> Iterator[None]:
    """The app's folder has these blobs as well, all of one name's beginning; only the clone's index ever has."""
    git, folder = siege.git, siege.web.folder.encode()
    with out_of_the_work_tree(siege, folder + b"/many*") as before:
        lines = (b"100644 %s\t%s/%s\0" % (blob, folder, name) for name, blob in files.items())
        git.run("update-index", "-z", "--index-info", stdin=b"".join(lines))
        git.push(git.commit(b"much"))
        try:
            with memory_stays():
                siege.world.wake()
                yield
        finally:
            siege.world.pull()
            git.push(git.commit(b"less", tree=before))


def _is_told_and_mends_it(siege: Siege, files: Mapping[bytes, bytes], *said: str, restarted: bool = False) -> None:
    web = siege.web
    live, tag = web.live_tag(), f"after-{len(files)}"
    with _pushed(siege, files):
        message = web.wait_condition("InvalidSpec")["message"]
        assert all(part in message for part in said), message
        assert len(message) < 2_000
        siege.bystander_goes_on()
        if restarted:
            siege.outlives_a_restart()
        assert web.live_tag() == live
    web.wait_condition("InvalidSpec", "Absent")
    web.push_image(tag)
    web.wait_offered(tag)


def test_file_of_100_megabytes_is_not_read(siege: Siege) -> None:
    blob = siege.git.blob(bytes(LARGE))
    _is_told_and_mends_it(siege, {b"many.yaml": blob}, f"{siege.web.folder}/many.yaml: is larger than 1024 KiB")


def test_folder_of_20_000_manifests_is_not_read(siege: Siege) -> None:
    blob = siege.git.blob(OBJECT)
    files = {b"many%d.yaml" % number: blob for number in range(MANY)}
    said = (f"{siege.web.folder}: has {MANY + OWN} YAML files", "at most 1000 are read")
    _is_told_and_mends_it(siege, files, *said, restarted=True)


def test_files_that_are_too_large_together_are_not_read(siege: Siege) -> None:
    """Each by itself would be read."""
    files = {b"many%d.yaml" % number: siege.git.blob(b"#%d\n" % number + bytes(1_000_000)) for number in range(100)}
    _is_told_and_mends_it(siege, files, f"{siege.web.folder}: its YAML files are larger than 16384 KiB together")


def test_files_that_are_no_manifests_of_an_app_are_nobodys_business(siege: Siege) -> None:
    blob = siege.git.blob(OBJECT)
    names = [name % number for name in (b"many%d.txt", b"many/%d.yaml") for number in range(MANY // 2)]
    with _pushed(siege, dict.fromkeys(names, blob)):
        siege.web.push_image("beside")
        siege.web.wait_offered("beside")
        siege.bystander_goes_on()


LEVELS = WIDTH = 10
FILE, FOLDER = b"100644", b"40000"


def _bomb(siege: Siege, blob: bytes) -> bytes:
    """Ten folders in one another with ten entries each, all the same: ten thousand million files in some kilobytes."""
    tree = siege.git.tree(*((FILE, b"%d.yaml" % number, blob) for number in range(WIDTH)))
    for _ in range(LEVELS - 1):
        tree = siege.git.tree(*((FOLDER, b"%d" % number, tree) for number in range(WIDTH)))
    return tree


def _with(siege: Siege, tree: bytes, path: str, mode: bytes, blob: bytes) -> bytes:
    """A tree with one more entry, made by hand: an index would hold all of them."""
    name, _, rest = path.encode().partition(b"/")
    held: dict[bytes, tuple[bytes, bytes]] = {}
    for line in siege.git.run("ls-tree", "-z", tree).split(b"\0") if tree else ():
        facts, _, known = line.partition(b"\t")
        if known:
            held[known] = (facts.split(b" ")[0].lstrip(b"0"), facts.split(b" ")[2])
    below = held.get(name, (FOLDER, b""))[1]
    held[name] = (FOLDER, _with(siege, below, rest.decode(), mode, blob)) if rest else (mode, blob)
    ordered = sorted(held, key=lambda one: one + b"/" if held[one][0] == FOLDER else one)
    return siege.git.tree(*((held[one][0], one, held[one][1]) for one in ordered))


def _pushed_alone(siege: Siege, tree: bytes) -> None:
    """A commit of this tree on top of main, which no work tree ever has."""
    siege.git.run("fetch", "--quiet", "origin", "main")
    head = siege.git.run("rev-parse", "FETCH_HEAD")
    commit = siege.git.commit(b"by hand", tree=tree, parents=(head,))
    siege.git.run("-c", "pack.useSparse=false", "push", "--quiet", "origin", commit + b":refs/heads/main")
    siege.world.wake()


BOMBED = ("apps/{}/web/bomb", "apps/{}/web/bomb/1", "apps/{}/bomb", "apps/bomb", "bomb", "analysis")


def test_folders_in_one_another_are_listed_no_deeper_than_they_are_read(siege: Siege) -> None:
    """Where they come, change and go, and for an agent that begins there; the remote is one that can serve them."""
    siege.git.run("--git-dir", str(siege.world.remote.bare), "config", "pack.useSparse", "false")
    siege.world.pull()
    clean = siege.git.run("write-tree")
    with memory_stays():
        for number, place in enumerate(BOMBED):
            bomb = _bomb(siege, siege.git.blob(b"#%d\n" % (number // 2) + OBJECT))
            tree = _with(siege, clean, place.format(siege.world.namespace), FOLDER, bomb)
            _another_goes_on(siege, tree, f"bomb-{number}")
        siege.world.restart(fresh_mirror=True)
        _another_goes_on(siege, tree, "bomb-again")
    agent = siege.world.agent
    assert agent is not None
    problem = agent.repository.files_below("analysis")["analysis"].content
    assert "analysis: has more than 1000 folders" in str(problem)
    _pushed_alone(siege, clean)
    siege.world.pull()
    siege.bystander_goes_on()


def _another_goes_on(siege: Siege, tree: bytes, tag: str) -> None:
    target = siege.git.blob(siege.api.target_yaml(tag).encode())
    begun = time.monotonic()
    _pushed_alone(siege, _with(siege, tree, f"{siege.api.folder}/target.yaml", FILE, target))
    siege.api.wait(lambda: tag in siege.api.versions(), f"api:{tag} comes up", timeout=siege.usual_seconds)
    assert time.monotonic() - begun < siege.usual_seconds

"""What is much too large, or much too many: memory and time are bounded, and who wrote it is told the limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.attacks.conftest import LARGE, Siege, memory_stays

MANY = 100_000
OWN = 3
"""YAML files that the app has anyway."""
OBJECT = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: many}\n"


@contextmanager
def _pushed(siege: Siege, files: Mapping[bytes, bytes]) -> Iterator[None]:
    """The app's folder has these blobs as well, all of one name's beginning; only the clone's index ever has."""
    git, folder = siege.git, siege.web.folder.encode()
    siege.world.pull()
    git.run("sparse-checkout", "set", "--no-cone", "/*", b"!/" + folder + b"/many*")
    before = git.run("write-tree")
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
        git.run("sparse-checkout", "disable")
        siege.world.wake()


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
    web.wait_condition("InvalidSpec", "False")
    web.push_image(tag)
    web.wait_offered(tag)


def test_file_of_100_megabytes_is_not_read(siege: Siege) -> None:
    blob = siege.git.blob(bytes(LARGE))
    _is_told_and_mends_it(siege, {b"many.yaml": blob}, f"{siege.web.folder}/many.yaml: is larger than 1024 KiB")


def test_folder_of_100_000_manifests_is_not_read(siege: Siege) -> None:
    blob = siege.git.blob(OBJECT)
    files = {b"many%d.yaml" % number: blob for number in range(MANY)}
    said = (f"{siege.web.folder}: has {MANY + OWN} YAML files", "at most 1000 are read")
    _is_told_and_mends_it(siege, files, *said, restarted=True)


def test_files_that_are_too_large_together_are_not_read(siege: Siege) -> None:
    """Each by itself would be read."""
    files = {b"many%d.yaml" % number: siege.git.blob(b"#%d\n" % number + bytes(1_000_000)) for number in range(200)}
    _is_told_and_mends_it(siege, files, f"{siege.web.folder}: its YAML files are larger than 16384 KiB together")


def test_files_that_are_no_manifests_of_an_app_are_nobodys_business(siege: Siege) -> None:
    blob = siege.git.blob(OBJECT)
    names = [name % number for name in (b"many%d.txt", b"many/%d.yaml") for number in range(MANY // 10)]
    with _pushed(siege, dict.fromkeys(names, blob)):
        siege.web.push_image("beside")
        siege.web.wait_offered("beside")
        siege.bystander_goes_on()

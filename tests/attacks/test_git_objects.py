"""Objects that are huge once unpacked, that the remote cannot read, or that are nobody's: one app's problem."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gitops_bg.repo.git import directory
from tests.attacks.conftest import Siege, memory_stays, out_of_the_work_tree
from tests.support.git.bombs import loose
from tests.support.waiting import eventually

BUSY = 20.0
"""Seconds that a second of CPU time may take where all else runs on the machine, too."""


def _bomb(siege: Siege) -> bytes:
    return loose(siege.world.remote.bare / "objects", "blob")


@contextmanager
def _pushed(siege: Siege, path: str, blob: bytes) -> Iterator[None]:
    """Main has this blob at a path, until the end; only the index of the user's clone ever has."""
    git = siege.git
    with out_of_the_work_tree(siege, path.encode()) as before:
        git.stage(path.encode(), blob)
        _commit(siege, git.run("write-tree"))
        try:
            with memory_stays():
                siege.world.wake()
                yield
        finally:
            siege.world.pull()
            _commit(siege, before)


def _commit(siege: Siege, tree: bytes) -> None:
    """A push that packs nothing: the remote shares the clone's objects."""
    commit = siege.git.commit(b"odd", tree=tree)
    siege.world.remote.run("update-ref", "refs/heads/main", commit.decode(), cwd=siege.world.remote.bare)
    siege.git.run("reset", "--quiet", "--hard", commit)


def test_file_that_unpacks_to_gigabytes_is_its_apps_problem(siege: Siege) -> None:
    """Found: git unpacked 3 GiB for 44 s, and every other app waited."""
    web = siege.web
    live = web.live_tag()
    with _pushed(siege, f"{web.folder}/target.yaml", _bomb(siege)):
        siege.bystander_goes_on(siege.usual_seconds + BUSY)
        assert f"{web.folder}/target.yaml: is larger than 1024 KiB" in web.wait_condition("InvalidSpec")["message"]
        siege.bystander_goes_on(siege.usual_seconds + BUSY)
        assert web.live_tag() == live
    web.wait_condition("InvalidSpec", "Absent")


@pytest.mark.parametrize("path", ["analysis/many.yaml", "policies/many.yaml", "alerts/many.yaml"])
def test_shared_file_that_unpacks_to_gigabytes_holds_nobody_up(path: str, siege: Siege) -> None:
    with _pushed(siege, path, _bomb(siege)):
        siege.bystander_goes_on(siege.usual_seconds + BUSY)
    siege.bystander_goes_on(siege.usual_seconds + BUSY)


def test_settings_that_unpack_to_gigabytes_are_told_and_traffic_stays(siege: Siege) -> None:
    """They are everybody's, as a mistake in them is."""
    live = siege.api.live_tag()
    with _pushed(siege, "gitops-bg.yaml", _bomb(siege)):
        assert "gitops-bg.yaml: is larger than 1024 KiB" in siege.api.wait_condition("InvalidSpec")["message"]
        assert siege.api.live_tag() == live
    siege.bystander_goes_on(siege.usual_seconds + BUSY)


def test_file_that_the_remote_cannot_read_is_its_apps_problem_until_it_can(siege: Siege) -> None:
    """Found: the remote counted as unreachable, for every app, as long as it lasted."""
    web, remote = siege.web, siege.world.remote
    tag = "repaired"
    content = web.target_yaml(tag).encode()
    blob = siege.git.blob(content)
    file = remote.bare / "objects" / blob[:2].decode() / blob[2:].decode()
    sound = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(b"no object")
    with _pushed(siege, f"{web.folder}/target.yaml", blob):
        siege.bystander_goes_on()
        message = web.wait_condition("InvalidSpec")["message"]
        assert f"{web.folder}/target.yaml: the remote does not hand it out" in message
        siege.bystander_goes_on()
        file.write_bytes(sound)
        siege.world.wake()
        web.wait_condition("InvalidSpec", "Absent")
        web.wait(lambda: tag in web.versions(), "the repaired version comes up")


def test_branch_of_another_cluster_or_of_nobody_is_not_fetched(siege: Siege) -> None:
    """Found: 5,000 promotion branches of apps that nobody has took 23 s, and 50,000 minutes, for every new agent."""
    remote, head = siege.world.remote, siege.world.remote.head()
    names = [f"refs/heads/gitops-bg/promote/nobody/app-{number}" for number in range(5_000)]
    names += [f"refs/heads/gitops-bg/promote-groups/{siege.world.namespace}/group-{number}" for number in range(100)]
    names += [f"refs/heads/gitops-bg/state/other-{number}" for number in range(100)]
    told = "".join(f"{head} {name}\n" for name in sorted(names))
    packed = remote.bare / "packed-refs"
    before = packed.read_text() if packed.exists() else ""
    assert not before
    packed.write_text(f"# pack-refs with: peeled fully-peeled sorted \n{told}")
    begun = time.monotonic()
    try:
        siege.world.wake()
        siege.bystander_goes_on()
        siege.outlives_a_restart()
        assert time.monotonic() - begun < 3 * siege.usual_seconds
        agent = siege.world.agent
        assert agent is not None
        tracked = agent.repository.mirror.tracked()
        assert not [name for name in tracked if "nobody" in name or "group-" in name or "other" in name]
    finally:
        packed.unlink()
        siege.world.wake()
    siege.bystander_goes_on()


def test_mirror_of_busy_authors_stays_small(siege: Siege, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found: it was packed once a week, and every push leaves a pack or two."""
    monkeypatch.setattr(directory, "MOST_PACKS", 12)
    agent = siege.world.agent
    assert agent is not None
    for _ in range(6):
        siege.bystander_goes_on()
    packs = agent.repository.settings.mirror / "objects" / "pack"

    def is_tidied() -> bool:
        siege.world.wake()  # As by the next poll, which tidies what was put off while something waited.
        return len(list(packs.glob("*.idx"))) <= 14

    eventually(is_tidied, what="the mirror is tidied")
    siege.bystander_goes_on()

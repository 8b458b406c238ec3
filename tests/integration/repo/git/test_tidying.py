"""Many small packs become few, by their count, quickly, and whatever ends the process on the way."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git import directory
from gitops_bg.repo.git.directory import _growing, _ids_in, _Pack
from gitops_bg.repo.git.errors import MirrorBroken
from gitops_bg.repo.git.runner import Git
from gitops_bg.repo.git.transport import PARTIAL
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import API, WEB, Opener, change, git_calls
from tests.integration.repo.ledger.test_ledger import batch, entry
from tests.support.git.remote import GitRemote


def packs(repository: Repository) -> list[Path]:
    return sorted((repository.settings.mirror / "objects" / "pack").glob("*.pack"))


def loose(repository: Repository) -> list[Path]:
    return list((repository.settings.mirror / "objects").glob("[0-9a-f][0-9a-f]/*"))


def push(remote: GitRemote, number: int) -> str:
    return remote.publish(f"web {number}", {"apps/shop/web/x.yaml": f"a: {number}"})


def is_whole(repository: Repository) -> bool:
    git = repository.mirror.git
    return git.attempt(*PARTIAL, "fsck", "--connectivity-only", "--no-dangling").status == 0


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "MOST_PACKS", 6)
    monkeypatch.setattr(directory, "MOST_LOOSE", 20)


@pytest.mark.usefixtures("few")
def test_packs_and_loose_objects_stay_few_however_many_are_fetched_and_written(
    repository: Repository, remote: GitRemote
) -> None:
    most = 0
    for number in range(12):
        head = push(remote, number)
        assert repository.poll().commit == head
        assert repository.files(WEB)["x.yaml"] == f"a: {number}".encode()
        repository.ledger.publish({WEB: batch(entry(number + 1))})
        repository.tidy()
        most = max(most, len(packs(repository)))
        assert len(loose(repository)) <= 20
    assert most <= 7
    assert is_whole(repository)
    for packed in packs(repository):
        assert packed.with_suffix(".idx").exists()
    assert len(repository.history.of(WEB)) == 12
    repository.promotions.commit([change(repository)])
    repository.promotions.offer([change(repository, app=API, version=1)])
    assert repository.poll().changed == {WEB}


@pytest.mark.usefixtures("few")
def test_nothing_is_done_where_there_are_few(
    repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = git_calls(repository, monkeypatch)
    assert not repository.tidy()
    for number in range(3):
        push(remote, number)
        repository.poll()
        repository.files(WEB)
    assert len(packs(repository)) > 6
    assert not repository.tidy(hurried=True)
    assert "pack-objects" not in calls
    assert repository.tidy()
    assert calls.count("pack-objects") == 1
    assert len(packs(repository)) == 1


@pytest.mark.parametrize(
    ("step", "after"), [("replace", 0), ("replace", 1), ("replace", 2), ("unlink", 0), ("unlink", 1)]
)
def test_whatever_ends_it_on_the_way_leaves_a_sound_mirror(
    step: str, after: int, opened: Opener, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = opened()
    for number in range(4):
        push(remote, number)
        repository.poll()
        repository.files(WEB)
    done = getattr(Path, step)
    times = iter(range(100))

    def dies(path: Path, *given: object, **options: object) -> object:
        if "objects" in path.parts and next(times) >= after:
            raise KeyboardInterrupt
        return done(path, *given, **options)

    with monkeypatch.context() as dying:
        dying.setattr(Path, step, dies)
        with pytest.raises(KeyboardInterrupt):
            repository.mirror.tidy()
    repository.close()
    again = opened()
    assert is_whole(again)
    assert not (again.settings.mirror / "objects" / "tidy").exists()
    head = push(remote, 9)
    assert again.poll().commit == head
    assert again.files(WEB)["x.yaml"] == b"a: 9"
    again.mirror.tidy()
    assert len(packs(again)) == 1
    assert is_whole(again)


def test_a_pack_is_joined_only_with_smaller_ones_that_have_grown_to_half_its_size() -> None:
    def joined(*sizes: int) -> list[int]:
        return sorted(pack.size for pack in _growing([_Pack(Path(), size, promised=True) for size in sizes]))

    assert joined(1, 1, 1) == [1, 1, 1]
    assert joined(100, 1, 1, 1) == [1, 1, 1]
    assert joined(1000, 100, 30, 30) == [30, 30, 100]
    assert joined(1000, 200, 50, 30) == [30, 50]
    assert joined(9, 3, 1) == joined(7) == joined() == []


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_the_ids_in_a_pack_are_those_that_git_lists(form: str, tmp_path: Path, remote: GitRemote) -> None:
    def run(*arguments: str) -> str:
        return remote.run(*arguments, cwd=tmp_path)

    run("init", "--quiet", f"--object-format={form}", ".")
    for number in range(5):
        run("commit", "--quiet", "--allow-empty", "-m", str(number))
    run("repack", "-a", "-d", "--quiet")
    [index] = (tmp_path / ".git" / "objects" / "pack").glob("*.idx")
    listed = {line.split()[0] for line in run("verify-pack", "-v", str(index)).split("\n")[:-1] if " commit " in line}
    assert listed < set(_ids_in(index))
    index.chmod(0o644)
    index.write_bytes(index.read_bytes()[:-1])
    with pytest.raises(ValueError, match="another length"):
        _ids_in(index)


@pytest.mark.slow
def test_dozens_of_packs_are_joined_while_nobody_notices(
    repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "MOST_PACKS", 15)
    git, commits = repository.mirror.git, 60
    for number in range(commits):
        remote.run("commit", "--quiet", "--allow-empty", "-m", str(number))
        remote.push()
        git.attempt(*PARTIAL, "fetch", "--quiet", "--filter=blob:none", "origin", "main")
    assert len(packs(repository)) > commits
    begun = time.monotonic()
    assert repository.tidy(hurried=True)
    assert time.monotonic() - begun < 2
    assert len(packs(repository)) == 1
    assert is_whole(repository)


def test_a_damaged_pack_ends_in_a_new_mirror(repository: Repository, remote: GitRemote) -> None:
    for number in range(2):
        push(remote, number)
        repository.poll()
        repository.files(WEB)
    damaged = packs(repository)[0].with_suffix(".idx")
    damaged.chmod(0o644)
    damaged.write_bytes(b"no index")
    with pytest.raises(MirrorBroken), repository.lock:
        repository.mirror.tidy()
    assert repository.poll().commit == remote.head()
    assert is_whole(repository)


@pytest.mark.usefixtures("few")
def test_versions_of_one_file_are_kept_as_their_differences_however_much_there_is(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table of the ledger changes by a line at a time."""
    monkeypatch.setattr(directory, "_COMPARED", -1)
    repository.poll()
    apps = [AppKey(f"team-{number % 20}", f"app-{number}") for number in range(400)]
    repository.ledger.publish({app: batch(entry(1)) for app in apps})
    for number in range(2, 12):
        repository.ledger.publish({app: batch(entry(1), entry(number)) for app in apps[number * 37 % 380 :][:20]})
    sizes, before = {}, repository.mirror.git
    for way in ("by path", "by id"):
        copy = tmp_path / way.replace(" ", "-")
        shutil.copytree(repository.settings.mirror, copy)
        if way == "by id":
            monkeypatch.setattr(directory.Tidying, "_packed_by_path", lambda *_: "")
        directory.Tidying(copy, Git(copy, before._transport, before._timeout, before._limits)).tidy()
        sizes[way] = sum(file.stat().st_size for file in (copy / "objects" / "pack").glob("*.pack"))
    assert sizes["by path"] < 0.7 * sizes["by id"], sizes


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("trouble", ["git is older", "an object would be missing"])
def test_where_git_does_not_pack_by_path_objects_are_joined_by_their_ids(
    trouble: str, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    if trouble == "git is older":
        options = ("--quiet", "--window=10", "--no-such-option", "--unpacked")
        monkeypatch.setattr(directory, "BY_PATH", options)
    else:
        monkeypatch.setattr(directory, "BY_PATH", ("--quiet", "--window=10", "--stdin-packs"))  # without loose objects
    for number in range(12):
        push(remote, number)
        repository.poll()
        repository.ledger.publish({WEB: batch(entry(number + 1))})
        repository.tidy()
    assert is_whole(repository)
    assert len(repository.history.of(WEB)) == 12

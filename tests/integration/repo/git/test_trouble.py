"""Every kind of trouble has an error of its own that says what to do, and passes when the trouble does."""

from __future__ import annotations

import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from gitops_bg.core.errors import GitopsBgError, Refused, Transient
from gitops_bg.repo.git import directory
from gitops_bg.repo.git.errors import (
    BranchMissing,
    DiskProblem,
    MirrorBroken,
    MirrorInUse,
    RemoteMoved,
    RemoteTimedOut,
    RemoteUnreachable,
)
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import SEEN_REF, RepositorySettings
from tests.fixtures.repos.build import FIXTURES, advance, build
from tests.integration.repo.conftest import API, WEB, Opener, change, git_calls
from tests.integration.repo.ledger.test_ledger import batch, entry
from tests.support.git.remote import GitRemote


class TestTheRemote:
    def test_an_empty_one_says_what_to_push(self, opened: Opener, tmp_path: Path) -> None:
        with pytest.raises(BranchMissing, match="remote is empty; push a first commit to its branch main"):
            opened(str(build("empty", tmp_path / "fixture"))).poll()

    def test_one_without_the_branch_names_those_it_has(self, opened: Opener) -> None:
        with pytest.raises(BranchMissing, match="no branch production; it has main"):
            opened(branch="production").poll()

    def test_a_deleted_main_is_reported_and_comes_back(self, repository: Repository, remote: GitRemote) -> None:
        head = remote.head()
        remote.run("update-ref", "-d", "refs/heads/main", cwd=remote.bare)
        for _ in range(2):
            with pytest.raises(BranchMissing):
                repository.poll()
        assert repository.head == head
        assert set(repository.files(WEB)) == {"app.yaml", "primary.yaml", "target.yaml"}
        remote.push("main")
        assert repository.poll().commit == head

    def test_a_branch_that_came_since_the_first_question_is_no_missing_one(
        self, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Found: "the remote has no branch main; it has main"."""
        monkeypatch.setattr(repository.mirror, "advertised", lambda: b"")
        with pytest.raises(RemoteMoved, match="got its branch main just now"):
            repository.poll()
        monkeypatch.undo()
        assert repository.poll().commit

    def test_one_that_is_down_is_transient_and_what_was_fetched_stays(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        repository.files(WEB)
        remote.go_down()
        with pytest.raises(RemoteUnreachable):
            repository.poll()
        assert repository.files(WEB)["target.yaml"]
        remote.come_back()
        assert not repository.poll().changed

    def test_one_that_goes_down_between_the_look_and_the_fetch_is_seen_at_the_next_poll(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        remote.publish("Second", {"apps/shop/web/x.yaml": "a: 1"})
        fetch = repository.mirror.fetch
        monkeypatch.setattr(repository.mirror, "fetch", lambda names: (remote.go_down(), fetch(names)))
        with pytest.raises(RemoteUnreachable):
            repository.poll()
        monkeypatch.undo()
        remote.come_back()
        assert repository.poll().changed == {WEB}

    def test_blobs_that_cannot_be_fetched_are_transient(self, repository: Repository, remote: GitRemote) -> None:
        remote.go_down()
        with pytest.raises(RemoteUnreachable):
            repository.files(API)
        remote.come_back()
        assert repository.files(API)

    def test_a_slow_one_is_given_up_at_the_deadline(self, opened: Opener, tmp_path: Path) -> None:
        program = tmp_path / "slow"
        program.write_text("#!/bin/sh\nexec sleep 60\n")
        program.chmod(0o755)
        with pytest.raises(RemoteTimedOut, match=r"no answer within 0\.3 s"):
            opened("git@git.example.com:x", ssh_program=str(program), timeout_seconds=0.3).poll()

    def test_a_push_that_arrives_but_is_not_answered_is_found_at_the_next_look(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from gitops_bg.repo.git.runner import Finished

        git = repository.mirror.git
        attempt = git.attempt

        def killed(*arguments: str, **options: object) -> Finished:
            finished = attempt(*arguments, **options)  # type: ignore[arg-type]
            return Finished(-signal.SIGKILL, b"", "Timeout") if arguments[0] == "push" else finished

        monkeypatch.setattr(git, "attempt", killed)
        wanted = change(repository)
        with pytest.raises(RemoteTimedOut):
            repository.promotions.commit([wanted])
        with pytest.raises(RemoteTimedOut):
            repository.ledger.publish({WEB: batch(entry(1))})
        monkeypatch.undo()
        assert repository.poll().changed == {WEB}
        assert repository.promotions.commit([wanted])[WEB].result == "unchanged"
        assert repository.ledger.publish({WEB: batch(entry(1))}).commit == ""
        assert (len(remote.log()), len(remote.log("gitops-bg/state/prod"))) == (2, 1)

    def test_a_broken_off_push_that_arrived_counts_as_taken(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from gitops_bg.repo.git.runner import Finished

        git = repository.mirror.git
        attempt = git.attempt

        def cut(*arguments: str, **options: object) -> Finished:
            finished = attempt(*arguments, **options)  # type: ignore[arg-type]
            return Finished(128, b"", "the remote end hung up") if arguments[0] == "push" else finished

        monkeypatch.setattr(git, "attempt", cut)
        assert repository.promotions.commit([change(repository)])[WEB].result == "committed"
        assert len(remote.log()) == 2

    def test_a_shallow_answer_never_holds_a_secret(self, opened: Opener, tmp_path: Path) -> None:
        token = tmp_path / "token"
        token.write_text("hunter2")
        program = tmp_path / "ssh"
        program.write_text("#!/bin/sh\necho 'fatal: hunter2 https://me:hunter3@host/' >&2\nexit 255\n")
        program.chmod(0o755)
        with pytest.raises(RemoteUnreachable) as failed:
            opened("git@git.example.com:x", ssh_program=str(program), token_file=token).poll()
        assert "hunter" not in str(failed.value)


class TestTheMirror:
    def broken_by(self, mirror: Path, how: str) -> None:
        if how == "no objects":
            for pack in (mirror / "objects").rglob("*"):
                if pack.is_file():
                    pack.chmod(0o644)
                    pack.write_bytes(b"garbage")
        elif how == "no packs":
            shutil.rmtree(mirror / "objects" / "pack")
        elif how == "head":
            (mirror / "HEAD").write_text("garbage")
        elif how == "refs":
            (mirror / "packed-refs").write_text("garbage\n")
        else:
            shutil.rmtree(mirror)

    @pytest.mark.parametrize(
        ("how", "pushed"),
        [(how, True) for how in ("no objects", "no packs", "head", "refs", "gone")]
        + [(how, False) for how in ("no packs", "gone")],
    )
    def test_a_damaged_one_is_cloned_again_by_a_poll(
        self, how: str, pushed: bool, repository: Repository, remote: GitRemote, tmp_path: Path
    ) -> None:
        repository.files(WEB)
        repository.ledger.publish({WEB: batch(entry(1))})
        self.broken_by(tmp_path / "mirror" / "mirror.git", how)
        if pushed:
            remote.publish("Second", {"apps/shop/web/x.yaml": "a: 1"})
        else:
            assert "target.yaml" in repository.files(WEB), "what was read is known"
            with pytest.raises(GitopsBgError):
                repository.removed_files(API)
        poll = repository.poll()
        assert poll.commit == remote.head()
        assert poll.changed == ({WEB} if pushed else set())
        assert poll.rewritten == ""
        assert "target.yaml" in repository.files(WEB)
        try:
            repository.ledger.publish({WEB: batch(entry(1), entry(2))})
        except MirrorBroken:  # the push to main may have hidden the damage from that poll, not from the next
            repository.poll()
            repository.ledger.publish({WEB: batch(entry(1), entry(2))})
        assert [found.entry.sequence for found in repository.history.of(WEB)] == [2, 1]

    @pytest.mark.parametrize("how", ["no objects", "no packs", "head", "refs", "gone"])
    def test_a_damaged_one_is_cloned_again_at_a_start(
        self, how: str, opened: Opener, remote: GitRemote, tmp_path: Path
    ) -> None:
        first = opened()
        first.poll()
        first.close()
        self.broken_by(tmp_path / "mirror" / "mirror.git", how)
        remote.publish("Second", {"apps/shop/web/x.yaml": "a: 1"})
        again = opened()
        assert again.poll().commit == remote.head()
        assert "target.yaml" in again.files(WEB)

    def test_a_rewritten_history_is_remembered_over_a_new_clone(
        self, repository: Repository, remote: GitRemote, tmp_path: Path
    ) -> None:
        lost = remote.publish("Second", {"apps/shop/web/x.yaml": "a: 1"})
        repository.poll()
        shutil.rmtree(tmp_path / "mirror" / "mirror.git")
        remote.force_push(to="HEAD~1")
        assert repository.poll().rewritten == lost

    def test_what_a_killed_git_left_is_removed_at_the_start(
        self, opened: Opener, remote: GitRemote, tmp_path: Path
    ) -> None:
        first = opened()
        first.poll()
        first.close()
        mirror = tmp_path / "mirror" / "mirror.git"
        left = [
            "packed-refs.lock",
            "HEAD.lock",
            "refs/mirror/heads/main.lock",
            "objects/pack/tmp_pack_x",
            "fast_import_crash_1",
        ]
        for name in left:
            (mirror / name).parent.mkdir(parents=True, exist_ok=True)
            (mirror / name).write_text("")
        remote.publish("Second", {"apps/shop/web/x.yaml": "a: 1"})
        assert opened().poll().commit == remote.head()
        assert not any((mirror / name).exists() for name in left)

    def test_a_write_has_no_file_outside_of_it_that_a_killed_agent_could_leave(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Found so: a folder with the marks of fast-import, one for each agent that was killed at that moment."""
        for named in ("mkdtemp", "mkstemp", "NamedTemporaryFile"):
            monkeypatch.delattr(tempfile, named)
        assert repository.promotions.commit([change(repository)])[WEB].result == "committed"
        assert repository.ledger.publish({WEB: batch(entry(1), entry(2))}).commit == remote.head("gitops-bg/state/prod")
        assert [found.entry.sequence for found in repository.history.of(WEB)] == [2, 1]

    def test_a_second_owner_is_refused_until_the_first_lets_go(self, opened: Opener, remote: GitRemote) -> None:
        first = opened()
        with pytest.raises(MirrorInUse, match="directory of its own"):
            opened()
        first.close()
        assert opened().poll().apps == 2

    def test_a_directory_that_cannot_be_is_a_disk_problem(self, opened: Opener, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(DiskProblem, match="cannot write"):
            opened(mirror="file/mirror")

    def test_a_full_disk_is_a_disk_problem_and_wipes_nothing(
        self, repository: Repository, remote: GitRemote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        remote.publish("Second", {"apps/shop/web/x.yaml": "a: 1"})
        pack = tmp_path / "mirror" / "mirror.git" / "objects"
        before = sorted(path.name for path in pack.rglob("*.pack"))
        monkeypatch.setattr(directory, "LEAST_FREE_BYTES", 1 << 62)
        monkeypatch.setattr(repository.mirror._remote, "_sound", lambda: False)
        git = repository.mirror.git
        attempt = git.attempt
        monkeypatch.setattr(
            git,
            "attempt",
            lambda *given, **options: attempt("no-such-command") if "fetch" in given else attempt(*given, **options),
        )
        with pytest.raises(DiskProblem, match="full"):
            repository.poll()
        monkeypatch.undo()
        assert sorted(path.name for path in pack.rglob("*.pack")) == before
        assert repository.poll().changed == {WEB}

    def test_the_errors_are_of_the_tree(self) -> None:
        assert issubclass(MirrorBroken, Transient)
        assert issubclass(BranchMissing, Refused)


class TestFixtures:
    @pytest.mark.parametrize("name", sorted(set(FIXTURES) - {"empty", "thousands"}))
    def test_every_fixture_is_polled_and_read(self, name: str, opened: Opener, tmp_path: Path) -> None:
        repository = opened(str(build(name, tmp_path / "fixture")))
        poll = repository.poll()
        assert WEB in poll.changed
        files = repository.files_of(poll.changed)
        assert all("app.yaml" in names for names in files.values())

    @pytest.mark.parametrize("name", ["force-pushed", "orphan"])
    def test_a_second_act_rewrites_history(self, name: str, opened: Opener, tmp_path: Path) -> None:
        remote = build(name, tmp_path / "fixture")
        repository = opened(str(remote))
        seen = repository.poll().commit
        advance(name, remote)
        poll = repository.poll()
        assert poll.rewritten == seen
        assert poll.commit != seen
        assert WEB in poll.changed
        repository.poller.accept(poll.commit)
        assert repository.poll().rewritten == ""

    def test_the_description_names_every_fixture(self) -> None:
        readme = Path(__file__).parents[3] / "fixtures" / "repos" / "README.md"
        text = readme.read_text()
        assert all(f"| `{name}` |" in text for name in FIXTURES)


def test_what_was_seen_is_a_ref_that_git_knows_and_packs(remote: GitRemote, tmp_path: Path) -> None:
    with Mirror(RepositorySettings(url=remote.url, cluster="test", directory=tmp_path / "mirrored")) as mirror:
        mirror.fetch(["main"])
        first, second = mirror.tracked()["main"], remote.publish("More", {"README.md": "more"})
        mirror.remember_seen(first)
        assert text(mirror.local("rev-parse", SEEN_REF)).strip() == first
        mirror.local("pack-refs", "--all", "--prune")
        mirror.fetch(["main"])
        mirror.remember_seen(second)
        assert text(mirror.local("rev-parse", SEEN_REF)).strip() == second
        mirror.forget_seen()
        assert mirror.git.attempt("rev-parse", "--verify", "--quiet", SEEN_REF).status == 1


def test_what_was_seen_is_not_half_written_where_git_has_locked_it(remote: GitRemote, tmp_path: Path) -> None:
    with Mirror(RepositorySettings(url=remote.url, cluster="test", directory=tmp_path / "mirrored")) as mirror:
        mirror.fetch(["main"])
        commit = mirror.tracked()["main"]
        lock = tmp_path / "mirrored" / "mirror.git" / f"{SEEN_REF}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
        with pytest.raises(DiskProblem, match="File exists"):
            mirror.remember_seen(commit)
        assert lock.exists(), "it is not ours"
        lock.unlink()
        mirror.remember_seen(commit)
        assert text(mirror.local("rev-parse", SEEN_REF)).strip() == commit
        assert not lock.exists()


def test_no_process_and_no_open_file_is_left(
    opened: Opener, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(Path("/proc/self/fd").iterdir()) if Path("/proc/self/fd").exists() else []
    repository = opened()
    repository.poll()
    repository.files(WEB)
    repository.sources([(WEB, "target.yaml")])
    calls = git_calls(repository, monkeypatch)
    repository.promotions.commit([change(repository)])
    assert calls
    repository.close()
    assert len(sorted(Path("/proc/self/fd").iterdir()) if before else []) == len(before)

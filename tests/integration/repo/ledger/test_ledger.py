"""Every entry reaches the state branch exactly once: across crashes, conflicts, deletions and other writers."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.record import Event, LedgerEntry, Record, Routing
from gitops_bg.core.model.statements import Cause, Hold, Says, Statement, holds
from gitops_bg.core.model.version import (
    AppKey,
    AppOrGroup,
    Color,
    GroupKey,
    Retirement,
    Snapshot,
    Source,
    Stage,
    Version,
)
from gitops_bg.repo.git.errors import PushRefused, RemoteUnreachable
from gitops_bg.repo.ledger.ledger_file import (
    LedgerBatch,
    LedgerDocument,
    Position,
    PublishedEntry,
    SubjectState,
    VersionState,
    parse,
    path_of,
    render,
    state_of,
)
from gitops_bg.repo.repository import Repository
from tests.core.records import statements_of
from tests.fixtures.repos import texts
from tests.integration.repo.conftest import API, NOON, WEB, Opener
from tests.integration.repo.test_promotions import before_each_push
from tests.support.git.remote import GitRemote

STATE = "gitops-bg/state/prod"
ONE, TWO = texts.digest("web", "1.0.0"), texts.digest("web", "2.0.0")


def entry(sequence: int, event: Event = Event.PROMOTED, **facts: object) -> LedgerEntry:
    values: dict[str, object] = {
        "rollout": sequence,
        "from_version": sequence,
        "from_digest": ONE,
        "to_version": sequence + 1,
        "to_digest": TWO,
        "by": "ada",
        **facts,
    }
    return LedgerEntry(sequence, NOON + timedelta(minutes=sequence), event, **values)  # type: ignore[arg-type]


def batch(*entries: LedgerEntry, epoch: str = "life-1", state: SubjectState | None = None) -> LedgerBatch:
    last = max((one.sequence for one in entries), default=0)
    return LedgerBatch(epoch, entries, state or SubjectState(rollout=last, last_version=last + 1))


AGENT = "gitops-bg <gitops-bg@localhost>"


def push_as(remote: GitRemote, identity: str, files: dict[str, str | None]) -> None:
    """Commit and push what is checked out with these files, under a name that somebody gives himself."""
    name, _, mail = identity.rstrip(">").partition(" <")
    who = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": mail, "GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": mail}
    remote.stage(files)
    remote.run("commit", "--quiet", "-m", "Oops", env=who)
    remote.push(STATE)


def sequences(repository: Repository, subject: AppOrGroup = WEB) -> list[int]:
    repository.poll()
    return [found.entry.sequence for found in repository.history.of(subject)]


STORE = GroupKey("shop", "store")


@pytest.fixture(params=[WEB, STORE], ids=["app", "group"])
def subject(request: pytest.FixtureRequest) -> AppOrGroup:
    """What holds of the file of an app holds of that of a release group."""
    found: AppOrGroup = request.param
    return found


class TestOneEvent:
    def test_it_is_a_commit_that_says_it_in_its_subject_and_trailers(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        told = entry(6, source_commit="a" * 40, commit="b" * 40, reason="all gates are open")
        published = repository.ledger.publish({WEB: batch(told)})
        assert published.commit == remote.head(STATE)
        assert remote.log(STATE)[0].subject == f"web: promoted v6 ({ONE[3:13]}) → v7 ({TWO[3:13]}) [prod]"
        trailers = remote.run("log", "-1", "--format=%(trailers:unfold)", STATE, cwd=remote.bare)
        assert trailers.splitlines() == [
            "Bg-App: shop/web",
            "Bg-Event: promoted",
            f"Bg-From: v6 {ONE}",
            f"Bg-To: v7 {TWO}",
            f"Bg-Source-Commit: {'a' * 40}",
            f"Bg-Commit: {'b' * 40}",
            "Bg-Rollout: 6",
            "Bg-By: ada",
            "Bg-Reason: all gates are open",
            "Bg-Ledger: prod",
        ]

    def test_who_approved_is_a_trailer_each_and_is_read_back(self, repository: Repository, remote: GitRemote) -> None:
        told = entry(1, Event.MERGED, by="ana", approved_by=("ben", "cy\nBg-By: root"))
        repository.ledger.publish({WEB: batch(told)})
        trailers = remote.run("log", "-1", "--format=%(trailers:unfold)", STATE, cwd=remote.bare)
        assert [line for line in trailers.splitlines() if "By" in line] == [
            "Bg-By: ana",
            "Bg-Approved-By: ben",
            "Bg-Approved-By: cy Bg-By: root",
        ]
        repository.poll()
        assert [each.entry.approved_by for each in repository.history.of(WEB)] == [told.approved_by]

    def test_the_branch_has_nothing_in_common_with_main(self, repository: Repository, remote: GitRemote) -> None:
        repository.ledger.publish({WEB: batch(entry(1))})
        assert len(remote.log(STATE)) == 1
        files = remote.run("ls-tree", "-r", "--name-only", STATE, cwd=remote.bare)
        assert files.splitlines() == ["README.md", "shop/web.json"]

    def test_the_file_is_sorted_camel_case_json(self, repository: Repository, remote: GitRemote) -> None:
        state = SubjectState(
            rollout=1,
            last_version=2,
            active=VersionState(2, TWO, "green", 1, "a" * 40, NOON),
            candidate=VersionState(3, ONE),
            statements=statements_of(Hold(ONE, "bad", NOON)),
            served=(ONE, TWO),
        )
        repository.ledger.publish({WEB: batch(entry(1), state=state)})
        text = remote.show(STATE, "shop/web.json") or ""
        value = json.loads(text)
        assert list(value) == sorted(value)
        assert value["active"] == {
            "color": "green",
            "digest": TWO,
            "rollout": 1,
            "since": "2026-03-01T12:00:00+00:00",
            "sourceCommit": "a" * 40,
            "version": 2,
        }
        assert value["lastVersion"] == 2
        assert value["served"] == [ONE, TWO]
        assert (value["epoch"], value["sequence"]) == ("life-1", 1)
        assert text == json.dumps(value, indent=2, sort_keys=True) + "\n"

    def test_the_dashboard_shows_the_app(self, repository: Repository, remote: GitRemote) -> None:
        state = SubjectState(active=VersionState(2, TWO), candidate=VersionState(3, ONE))
        repository.ledger.publish({WEB: batch(entry(1), state=state)})
        page = remote.show(STATE, "README.md") or ""
        row = f"| [shop/web](shop/web.json) | v2 ({TWO[3:13]}) | v3 ({ONE[3:13]}) |  | promoted 2026-03-01 12:01 UTC |"
        assert row in page.splitlines()


class TestManyEvents:
    def test_all_of_a_tick_are_one_commit_with_a_block_of_trailers_each(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        repository.ledger.publish({WEB: batch(entry(1), entry(2, Event.HELD)), API: batch(entry(1, by=""))})
        assert [commit.subject for commit in remote.log(STATE)] == ["3 events of api, web [prod]"]
        message = remote.message(STATE)
        assert f"shop/api: promoted v1 ({ONE[3:13]}) → v2 ({TWO[3:13]})" in message
        apps = remote.run("log", "-1", "--format=%(trailers:key=Bg-App,valueonly)", STATE, cwd=remote.bare)
        assert apps.split() == ["shop/api", "shop/web", "shop/web"]

    def test_an_app_that_said_nothing_keeps_its_file(self, repository: Repository, remote: GitRemote) -> None:
        repository.ledger.publish({WEB: batch(entry(1)), API: batch(entry(1))})
        before = remote.show(STATE, "shop/api.json")
        repository.ledger.publish({WEB: batch(entry(2))})
        assert remote.show(STATE, "shop/api.json") == before
        assert "shop/api" in (remote.show(STATE, "README.md") or "")

    def test_a_file_keeps_twenty_entries_and_the_log_keeps_all(self, repository: Repository, remote: GitRemote) -> None:
        for start in range(1, 61, 3):
            repository.ledger.publish({WEB: batch(entry(start), entry(start + 1), entry(start + 2))})
        kept = json.loads(remote.show(STATE, "shop/web.json") or "")["history"]
        assert [one["sequence"] for one in kept] == list(range(41, 61))
        assert sequences(repository) == list(range(60, 0, -1))
        assert [found.entry for found in repository.history.of(WEB, limit=2)] == [entry(60), entry(59)]

    def test_more_than_twenty_at_once_are_all_kept(self, repository: Repository) -> None:
        repository.ledger.publish({WEB: batch(*(entry(number) for number in range(1, 41)))})
        repository.ledger.publish({WEB: batch(entry(41))})
        assert sequences(repository) == list(range(41, 0, -1))

    def test_history_names_the_commit_of_each_entry(self, repository: Repository, remote: GitRemote) -> None:
        commits = [repository.ledger.publish({WEB: batch(entry(number))}).commit for number in (1, 2, 3)]
        assert [found.commit for found in repository.history.of(WEB)] == commits[::-1]

    def test_an_unknown_app_has_no_history_and_no_memory(self, repository: Repository) -> None:
        assert repository.history.of(WEB) == []
        assert repository.ledger.memory(WEB) is None
        assert repository.ledger.positions() == {}

    def test_beyond_two_hundred_apps_the_dashboard_lists_namespaces(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        apps = [AppKey(f"team-{number % 3}", f"app-{number}") for number in range(201)]
        repository.ledger.publish({app: batch(entry(1)) for app in apps})
        page = remote.show(STATE, "README.md") or ""
        assert "| [team-1](team-1) | 67 |" in page
        assert "app-7" not in page


class TestExactlyOnce:
    def test_publishing_again_changes_nothing(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1), entry(2))})
        pushes = before_each_push(monkeypatch)
        again = repository.ledger.publish({subject: batch(entry(1), entry(2))})
        assert (again.commit, again.positions, pushes) == ("", {subject: Position("life-1", 2)}, [])
        assert repository.ledger.publish({}).commit == ""

    def test_only_what_is_new_is_added(self, subject: AppOrGroup, repository: Repository) -> None:
        repository.ledger.publish({subject: batch(entry(1), entry(2))})
        repository.ledger.publish({subject: batch(entry(2), entry(3))})
        assert sequences(repository, subject) == [3, 2, 1]

    def test_after_a_crash_and_with_a_new_mirror_nothing_is_told_twice(
        self, subject: AppOrGroup, opened: Opener, repository: Repository, remote: GitRemote
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1), entry(2))})
        fresh = opened(mirror="after-the-crash")
        fresh.poll()
        assert fresh.ledger.positions() == {subject: Position("life-1", 2)}
        assert fresh.ledger.publish({subject: batch(entry(1), entry(2))}).commit == ""

    def test_a_stale_mirror_does_not_repeat_what_another_agent_wrote(
        self, subject: AppOrGroup, opened: Opener, repository: Repository, remote: GitRemote
    ) -> None:
        other = opened(mirror="other")
        other.poll()
        repository.ledger.publish({subject: batch(entry(1))})
        assert other.ledger.publish({subject: batch(entry(1)), API: batch(entry(1))}).commit
        assert sequences(repository, subject) == [1]
        assert sequences(repository, API) == [1]

    def test_a_record_in_a_new_life_counts_from_the_start(self, subject: AppOrGroup, repository: Repository) -> None:
        repository.ledger.publish({subject: batch(entry(1), entry(2))})
        repository.ledger.publish({subject: batch(entry(1), epoch="life-2")})
        assert [(found.epoch, found.entry.sequence) for found in repository.history.of(subject)] == [
            ("life-2", 1),
            ("life-1", 2),
            ("life-1", 1),
        ]
        assert repository.ledger.positions()[subject] == Position("life-2", 1)

    def test_a_conflict_is_derived_again_and_loses_neither(
        self,
        subject: AppOrGroup,
        opened: Opener,
        repository: Repository,
        remote: GitRemote,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        other = opened(mirror="other")
        other.poll()
        pushes = before_each_push(monkeypatch, lambda: other.ledger.publish({API: batch(entry(1))}))
        repository.ledger.publish({subject: batch(entry(1))})
        assert len(pushes) >= 3
        assert sequences(repository, API) == [1]
        assert sequences(repository, subject) == [1]
        assert len(remote.log(STATE)) == 2

    def test_a_state_without_entries_is_written_only_if_it_differs(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1))})
        held = SubjectState(rollout=1, last_version=2, statements=statements_of(Hold(TWO, "bad", NOON)))
        assert repository.ledger.publish({subject: batch(state=held)}).commit
        assert repository.ledger.publish({subject: batch(state=held)}).commit == ""
        assert repository.ledger.positions()[subject] == Position("life-1", 1)


class TestOthersAtTheBranch:
    def test_a_deleted_branch_comes_back_with_all_it_had(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1))})
        remote.delete_branch(STATE)
        repository.poll()
        repository.ledger.publish({subject: batch(entry(2))})
        assert sequences(repository, subject) == [2, 1]
        assert len(remote.log(STATE)) == 2

    def test_a_deleted_branch_comes_back_though_nothing_is_new(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote
    ) -> None:
        commit = repository.ledger.publish({subject: batch(entry(1))}).commit
        repository.ledger.positions()
        remote.delete_branch(STATE)
        repository.poll()
        repository.ledger.publish({subject: batch(entry(1))})
        assert remote.head(STATE) == commit

    def test_a_branch_deleted_between_fetch_and_push_is_rebuilt(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1))})
        before_each_push(monkeypatch, lambda: remote.delete_branch(STATE))
        repository.ledger.publish({subject: batch(entry(2))})
        assert sequences(repository, subject) == [2, 1]

    def test_a_deleted_branch_and_a_new_mirror_begin_a_new_one(
        self, subject: AppOrGroup, opened: Opener, repository: Repository, remote: GitRemote
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1))})
        remote.delete_branch(STATE)
        fresh = opened(mirror="fresh")
        fresh.poll()
        fresh.ledger.publish({subject: batch(entry(2))})
        assert sequences(fresh, subject) == [2]

    @pytest.mark.parametrize("garbage", ["", "not json", "[]", '{"epoch": 1}', '{"a": {"b": ' * 2000, "\x00\x7f"])
    def test_garbage_is_reported_and_written_anew(
        self, subject: AppOrGroup, garbage: str, repository: Repository, remote: GitRemote
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1)), API: batch(entry(1))})
        remote.checkout(STATE)
        remote.publish("Oops", {path_of(subject): garbage, "notes.txt": "mine"})
        mine = repository.ledger.memory(subject)
        repository.poll()
        assert repository.ledger.positions()[subject] == Position("life-1", 1), "as the agent itself wrote it"
        assert repository.ledger.memory(subject) == mine is not None
        assert f"{path_of(subject)}: " in repository.ledger.doubts()[subject]
        assert [problem.file for problem in repository.ledger.problems()] == [path_of(subject)]
        published = repository.ledger.publish({subject: batch(entry(1), entry(2))})
        assert [problem.file for problem in published.problems] == [path_of(subject)]
        assert repository.ledger.problems() == ()
        assert repository.ledger.doubts() == {}
        assert sequences(repository, subject) == [2, 1]
        assert remote.show(STATE, "notes.txt") == "mine"

    @pytest.mark.parametrize("sequence", [10**30, 2**53 + 1, -1])
    def test_a_number_that_no_agent_counts_to_is_garbage(
        self, subject: AppOrGroup, sequence: int, repository: Repository, remote: GitRemote
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1))})
        remote.checkout(STATE)
        value = json.loads(remote.show(STATE, path_of(subject)) or "")
        remote.publish("Oops", {path_of(subject): json.dumps({**value, "sequence": sequence})})
        repository.poll()
        assert "is not one that an agent counts to" in str(repository.ledger.problems())
        repository.ledger.publish({subject: batch(entry(1), entry(2))})
        assert (repository.ledger.positions()[subject], sequences(repository, subject)) == (
            Position("life-1", 2),
            [2, 1],
        )

    def test_a_number_that_somebody_else_gave_out_hides_no_entry(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote
    ) -> None:
        """The record counts on from there, also with what waits; what was told before is not told again."""
        repository.ledger.publish({subject: batch(entry(1))})
        remote.checkout(STATE)
        value = json.loads(remote.show(STATE, path_of(subject)) or "")
        push_as(remote, AGENT, {path_of(subject): json.dumps({**value, "sequence": 50})})
        repository.poll()
        assert repository.ledger.positions()[subject] == Position("life-1", 50)
        waiting = [replace(entry(number), sequence=50 + number) for number in (1, 2, 3)]
        repository.ledger.publish({subject: batch(*waiting)})
        assert (repository.ledger.positions()[subject], sequences(repository, subject)) == (
            Position("life-1", 53),
            [53, 52, 1],
        )
        repository.ledger.publish({subject: batch(replace(entry(3), sequence=54))})
        assert (repository.ledger.positions()[subject], sequences(repository, subject)) == (
            Position("life-1", 54),
            [53, 52, 1],
        )

    def test_what_somebody_else_wrote_is_not_believed_and_gone_with_the_next_event(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote, opened: Opener
    ) -> None:
        """Found so: digests that somebody wrote there had served, to a cluster that was rebuilt: no gate held them."""
        repository.ledger.publish({subject: batch(entry(1)), API: batch(entry(1))})
        mine, other = repository.ledger.memory(subject), repository.ledger.memory(API)
        for rollout, name in ((98, "Mallory <m@example.com>"), (99, "gitops-bg <m@example.com>")):
            remote.checkout(STATE)
            value = json.loads(remote.show(STATE, path_of(subject)) or "")
            forged = {**value, "served": ["v1:" + "6" * 64], "statements": [], "sequence": 7, "rollout": rollout}
            push_as(remote, name, {path_of(subject): json.dumps(forged)})
        for reader in (repository, opened(mirror="fresh")):
            reader.poll()
            assert (reader.ledger.memory(subject), reader.ledger.memory(API)) == (mine, other)
            assert reader.ledger.positions()[subject] == Position("life-1", 1)
            [doubt] = reader.ledger.doubts().values()
            assert "gitops-bg <m@example.com> wrote it in commit" in doubt
        [problem] = repository.ledger.publish({subject: batch(entry(1), entry(2))}).problems
        assert "and not this agent" in problem.message
        assert (repository.ledger.doubts(), sequences(repository, subject)) == ({}, [2, 1])
        assert "v1:666" not in (remote.show(STATE, path_of(subject)) or "")

    @pytest.mark.parametrize("restarted", [False, True], ids=["as it runs", "after a restart"])
    def test_however_often_somebody_else_pushes_what_the_agent_wrote_counts(
        self, subject: AppOrGroup, restarted: bool, repository: Repository, remote: GitRemote, opened: Opener
    ) -> None:
        """Found so: of two pushes with a look between them, the first was believed."""
        repository.ledger.publish({subject: batch(entry(1)), API: batch(entry(1))})
        mine, sound = repository.ledger.memory(subject), remote.show(STATE, path_of(subject)) or ""
        value = json.loads(sound)
        texts = [json.dumps({**value, "rollout": rollout, "served": ["v1:" + "6" * 64]}) for rollout in (7, 8)]
        for text in (*texts, texts[0], sound, texts[1]):
            remote.checkout(STATE)
            push_as(remote, "Mallory <m@example.com>", {path_of(subject): text})
            reader = opened(mirror=f"fresh-{len(remote.log(STATE))}") if restarted else repository
            reader.poll()
            assert reader.ledger.memory(subject) == mine
            assert bool(reader.ledger.doubts()) is (text != sound), "what is as it was is nobody else's"

    def test_whatever_the_agent_writes_next_takes_back_what_others_did_to_any_file(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote, opened: Opener
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1)), API: batch(entry(1))})
        sound = remote.show(STATE, path_of(subject))
        remote.checkout(STATE)
        files = {path_of(subject): "{}", "shop/evil.json": sound, "groups/a/b.json": "{}", "shop/notes.txt": "mine"}
        push_as(remote, "Mallory <m@example.com>", files)
        repository.poll()
        repository.ledger.publish({API: batch(entry(1), entry(2))})
        names = remote.run("ls-tree", "-r", "--name-only", STATE, cwd=remote.bare).split()
        assert names == sorted(["README.md", "shop/api.json", "shop/notes.txt", path_of(subject)])
        assert remote.show(STATE, path_of(subject)) == sound
        assert f"Written anew: {path_of(subject)}: " in remote.message(STATE)
        assert (opened(mirror="fresh").ledger.doubts(), repository.ledger.doubts()) == ({}, {})

    def test_a_file_that_somebody_else_deleted_is_there_again_with_all_it_had(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1)), API: batch(entry(1))})
        remote.checkout(STATE)
        push_as(remote, "Mallory <m@example.com>", {path_of(subject): None})
        repository.poll()
        assert subject in repository.ledger.doubts()
        repository.ledger.publish({subject: batch(entry(1), entry(2))})
        written = parse((remote.show(STATE, path_of(subject)) or "").encode())
        assert [one.entry.sequence for one in written.history] == [1, 2]

    def test_of_a_file_that_was_always_somebody_else_s_only_what_holds_up_is_believed(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote
    ) -> None:
        """Also of an agent that had another name: its holds must not be lost with it."""
        hold = Hold(TWO, "bad", NOON, Cause.ROLLED_BACK)
        state = SubjectState(
            5, 6, VersionState(1, ONE), served=(ONE,), statements=statements_of(hold), primary_by="c" * 40
        )
        written = LedgerDocument(state, Position("life-0", 5), (PublishedEntry("life-0", entry(5)),))
        remote.checkout("main")
        remote.run("checkout", "--quiet", "--orphan", STATE)
        remote.run("rm", "-rfq", ".")
        push_as(remote, "former <f@example.com>", {path_of(subject): render(written).decode()})
        repository.poll()
        memory = repository.ledger.memory(subject)
        assert memory is not None
        assert (holds(memory.statements), memory.rollout, memory.last_version) == ((hold,), 5, 6)
        assert (memory.active_digests, memory.primary_by, memory.serving) == ((), "", "")
        assert subject not in repository.ledger.positions()
        repository.ledger.publish({API: batch(entry(1))})
        assert repository.ledger.memory(subject) == memory, (
            "and no more than that is the agent's once it has written on top"
        )
        assert (repository.ledger.positions()[subject], repository.ledger.doubts()) == (Position("life-0", 5), {})

    def test_commits_under_a_name_that_main_gives_the_agent_are_its_own_once_that_is_read(
        self, subject: AppOrGroup, repository: Repository, opened: Opener, remote: GitRemote
    ) -> None:
        settings = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"
        named = f"{settings}commitAuthor: {{name: Deployer., email: bot@example.com}}\n"
        remote.publish("a name", {"gitops-bg.yaml": named})
        repository.poll()
        remote.publish("no name", {"gitops-bg.yaml": settings})
        repository.ledger.publish({subject: batch(entry(1), state=SubjectState(served=(ONE,)))})
        fresh = opened(mirror="fresh")
        fresh.poll()
        assert "Deployer" in fresh.ledger.doubts()[subject]
        remote.publish("a name again", {"gitops-bg.yaml": named})
        fresh.poll()
        memory = fresh.ledger.memory(subject)
        assert (fresh.ledger.doubts(), memory and memory.active_digests) == ({}, (ONE,))
        assert fresh.ledger.positions()[subject] == Position("life-1", 1)

    def test_a_sequence_lower_than_that_of_an_entry_is_no_file_of_ours(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote
    ) -> None:
        repository.ledger.publish({subject: batch(entry(1), entry(2))})
        remote.checkout(STATE)
        value = json.loads(remote.show(STATE, path_of(subject)) or "")
        push_as(remote, AGENT, {path_of(subject): json.dumps({**value, "sequence": 1})})
        repository.poll()
        assert "its sequence is lower than that of an entry in it" in repository.ledger.doubts()[subject]

    def test_a_force_push_is_followed(self, subject: AppOrGroup, repository: Repository, remote: GitRemote) -> None:
        repository.ledger.publish({subject: batch(entry(1))})
        repository.ledger.publish({subject: batch(entry(2))})
        remote.checkout(STATE)
        remote.force_push(STATE, to="HEAD~1")
        assert sequences(repository, subject) == [1]
        repository.ledger.publish({subject: batch(entry(3))})
        assert sequences(repository, subject) == [3, 1]

    def test_a_protected_state_branch_is_push_refused(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote
    ) -> None:
        remote.protect(STATE)
        with pytest.raises(PushRefused):
            repository.ledger.publish({subject: batch(entry(1))})

    def test_a_remote_that_is_down_loses_nothing(
        self, subject: AppOrGroup, repository: Repository, remote: GitRemote
    ) -> None:
        remote.go_down()
        with pytest.raises(RemoteUnreachable):
            repository.ledger.publish({subject: batch(entry(1))})
        remote.come_back()
        repository.ledger.publish({subject: batch(entry(1))})
        assert sequences(repository, subject) == [1]


class TestMemory:
    def test_a_rebuilt_cluster_learns_holds_numbers_and_past_digests(
        self, opened: Opener, repository: Repository
    ) -> None:
        hold = Hold(TWO, "it was bad", NOON)
        state = SubjectState(rollout=4, last_version=7, statements=statements_of(hold), served=(ONE,))
        repository.ledger.publish({WEB: batch(entry(1), state=state)})
        serving = SubjectState(5, 7, VersionState(2, TWO), statements=statements_of(hold), served=(TWO,))
        repository.ledger.publish({WEB: batch(entry(2), state=serving)})
        fresh = opened(mirror="rebuilt")
        fresh.poll()
        memory = fresh.ledger.memory(WEB)
        assert memory is not None
        assert (memory.rollout, memory.last_version, holds(memory.statements)) == (5, 7, (hold,))
        assert (memory.active_digests, memory.serving) == ((ONE, TWO), TWO)

    def test_the_state_of_a_record_is_what_people_look_for(self) -> None:
        def version(number: int, stage: Stage, **facts: object) -> Version:
            snapshot, source = Snapshot(f"v1:{number}", ""), Source("c" * 40)
            values: dict[str, object] = {"activated_at": None, **facts}
            return Version(number, snapshot, Color.BLUE, stage, source, 1, NOON, **values)  # type: ignore[arg-type]

        record = Record(
            rollout=3,
            last_version=4,
            routing=Routing(traffic="v1:2", activations=("v1:0", "v1:1", "v1:2")),
            statements=statements_of(
                Hold("v1:0", "worse", NOON, Cause.PODS_FAILED, Says.PASSED_OVER), Hold("v1:3", "bad", NOON)
            ),
            versions=(
                version(1, Stage.LEGACY, activated_at=NOON),
                version(2, Stage.ACTIVE, activated_at=NOON + timedelta(hours=1)),
                version(3, Stage.CANDIDATE, retirement=Retirement(NOON)),
                version(4, Stage.CANDIDATE),
            ),
        )
        state = state_of(record)
        assert (state.active.version, state.candidate.version) == (2, 4)  # type: ignore[union-attr]
        assert state.served == ("v1:0", "v1:1", "v1:2")
        assert (state.statements, state.holds) == (record.statements, record.holds)

    @pytest.mark.parametrize("says", ["wanted", "said by a later release"])
    def test_a_file_says_what_is_on_hold_and_never_where_traffic_goes(self, says: str) -> None:
        refused = Statement(ONE, Says.REFUSED, NOON, Cause.LATE, "too late")
        text = render(LedgerDocument(SubjectState(statements=(refused, replace(refused, says=Says.CLEARED, at=NOON)))))
        forged = text.replace(b'"says": "cleared"', b'"says": "%s"' % says.encode())
        assert parse(forged).state.statements == (refused,)

    def test_a_file_is_read_back_as_it_was_written(self, repository: Repository) -> None:
        bad = Hold(ONE, "bad", NOON, Cause.ANALYSIS_FAILED)
        past = replace(bad, digest=TWO, lifted=Says.CLEARED)
        version = VersionState(2, TWO, "green", 1, "a", NOON)
        state = SubjectState(1, 2, version, VersionState(3, ONE), statements_of(bad, past), (ONE,))
        repository.ledger.publish({WEB: batch(entry(1, reason='a "b"\n ü'), state=state)})
        document = repository.ledger.document(WEB)
        assert document is not None
        assert document.state == state
        assert parse(render(document)) == document

"""Changes of primary.yaml reach main or the promotion branch, once, derived from what is really there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.errors import BranchMoved, PushRefused, RemoteMoved, RemoteUnreachable
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.read.changes import Trees, touched_between
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write import promotion
from gitops_bg.repo.write.promotion import PrimaryChange, PrimaryResult
from gitops_bg.repo.write.push import Pusher, Update
from tests.fixtures.repos import texts
from tests.integration.repo.conftest import API, WEB, Opener, change
from tests.support.git.remote import GitRemote

PRIMARY = "apps/shop/web/primary.yaml"
BRANCH = "gitops-bg/promote/shop/web"
SECOND = texts.primary("shop", "web", "2.0.0", 2).decode()


def before_each_push(monkeypatch: pytest.MonkeyPatch, *acts: object) -> list[int]:
    """Between derivation and push number n, act n happens; counts the pushes."""
    pushes: list[int] = []
    real = Pusher.push

    def push(self: Pusher, updates: list[Update]) -> object:
        number = len(pushes)
        pushes.append(len(updates))
        if number < len(acts):
            acts[number]()  # type: ignore[operator]
        return real(self, updates)

    monkeypatch.setattr(Pusher, "push", push)
    return pushes


class TestCommitToMain:
    def test_it_is_one_commit_on_top_of_main_that_changes_one_file(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        before = remote.head()
        outcome = repository.promotions.commit([change(repository)])[WEB]
        assert outcome.result is PrimaryResult.COMMITTED
        assert outcome.commit == remote.head()
        assert remote.run("rev-parse", "main^", cwd=remote.bare) == before
        assert remote.run("diff", "--name-only", "main^", "main", cwd=remote.bare) == PRIMARY
        assert remote.show("main", PRIMARY) == SECOND
        assert remote.log()[0].author == "gitops-bg"

    def test_many_apps_are_a_chain_of_commits_in_one_push(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pushes = before_each_push(monkeypatch)
        changes = [change(repository), change(repository, app=API, version=1, from_version=None, from_digest="")]
        outcomes = repository.promotions.commit(changes)
        assert [commit.subject.split(":")[0] for commit in remote.log()] == ["api", "web", "Add web and api"]
        assert outcomes[API].commit == remote.head()
        assert outcomes[WEB].commit == remote.run("rev-parse", "main^", cwd=remote.bare)
        assert pushes == [1]

    def test_equal_content_makes_no_commit_and_no_push(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wanted = change(repository)
        repository.promotions.commit([wanted])
        pushes = before_each_push(monkeypatch)
        outcome = repository.promotions.commit([wanted])[WEB]
        assert outcome.result is PrimaryResult.UNCHANGED
        assert (len(remote.log()), pushes) == (2, [])

    def test_a_push_of_somebody_else_in_between_is_kept(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def push() -> None:
            remote.publish("In between", {"apps/shop/api/target.yaml": "changed: true\n", "README.md": "read me"})

        pushes = before_each_push(monkeypatch, push)
        assert repository.promotions.commit([change(repository)])[WEB].result is PrimaryResult.COMMITTED
        assert len(pushes) == 2
        assert remote.show("main", "apps/shop/api/target.yaml") == "changed: true\n"
        assert remote.show("main", PRIMARY) == SECOND
        assert len(remote.log()) == 3
        assert repository.poll().changed == {WEB, API}

    @pytest.mark.parametrize("file", ["target.yaml", "app.yaml", "README.md", "more/x.yaml"])
    def test_another_file_of_the_app_in_between_supersedes_the_change_and_no_other_app_s(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch, file: str
    ) -> None:
        before_each_push(monkeypatch, lambda: remote.publish("Mine", {f"apps/shop/web/{file}": "changed: true\n"}))
        changes = [change(repository), change(repository, app=API, version=1)]
        outcomes = repository.promotions.commit(changes)
        assert outcomes[WEB].result is PrimaryResult.SUPERSEDED
        assert outcomes[API].result is PrimaryResult.COMMITTED
        assert [commit.subject.split(":")[0] for commit in remote.log()] == ["api", "Mine", "Add web and api"]
        assert repository.poll().changed == {WEB, API}
        assert repository.promotions.commit([change(repository)])[WEB].result is PrimaryResult.COMMITTED

    def test_another_primary_in_between_supersedes_the_change(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = texts.primary("shop", "web", "1.5.0", 2).decode()
        before_each_push(monkeypatch, lambda: remote.publish("Mine", {PRIMARY: other}))
        changes = [change(repository), change(repository, app=API, version=1)]
        outcomes = repository.promotions.commit(changes)
        assert outcomes[WEB].result is PrimaryResult.SUPERSEDED
        assert outcomes[API].result is PrimaryResult.COMMITTED
        assert remote.show("main", PRIMARY) == other

    def test_the_same_primary_in_between_needs_no_second_commit(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_each_push(monkeypatch, lambda: remote.publish("Mine", {PRIMARY: SECOND}))
        assert repository.promotions.commit([change(repository)])[WEB].result is PrimaryResult.UNCHANGED
        assert len(remote.log()) == 2

    def test_an_app_that_was_removed_in_between_does_not_come_back(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def remove() -> None:
            remote.remove("apps/shop/api")
            remote.commit("Remove api")
            remote.push()

        before_each_push(monkeypatch, remove)
        outcomes = repository.promotions.commit([change(repository, app=API, version=1)])
        assert outcomes[API].result is PrimaryResult.SUPERSEDED
        assert remote.show("main", "apps/shop/api/primary.yaml") is None

    def test_a_change_derived_from_an_older_primary_is_superseded_at_once(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        stale = change(repository)
        repository.promotions.commit([change(repository, tag="1.7.0")])
        assert repository.promotions.commit([stale])[WEB].result is PrimaryResult.SUPERSEDED
        assert len(remote.log()) == 2

    @pytest.mark.parametrize("act", ["commit", "offer"])
    def test_what_somebody_promoted_and_reverted_in_between_is_not_promoted_by_an_older_decision(
        self, repository: Repository, remote: GitRemote, act: str
    ) -> None:
        """The files of the app are again those that the change was decided from; that is somebody's decision."""
        changes = [change(repository), change(repository, app=API, version=1)]
        remote.publish("Promote", {PRIMARY: SECOND})
        remote.publish("Revert it", {PRIMARY: texts.primary("shop", "web", "1.0.0", 1).decode()})
        repository.poll()
        outcomes = getattr(repository.promotions, act)(changes)
        assert outcomes[WEB].result is PrimaryResult.SUPERSEDED
        assert outcomes[API].result is PrimaryResult.COMMITTED
        assert getattr(repository.promotions, act)([change(repository)])[WEB].result is PrimaryResult.COMMITTED

    @pytest.mark.parametrize("stale_side_is", ["first parent", "second parent"])
    def test_a_merge_that_takes_one_side_whole_supersedes_what_the_other_side_led_to(
        self, repository: Repository, remote: GitRemote, stale_side_is: str
    ) -> None:
        """No commit since then changes the app: the merge leaves out what an older one had brought."""
        remote.checkout("stale", new=True)
        remote.publish("Aside", {"README.md": "aside"})
        remote.checkout("main")
        remote.publish("Another target", {"apps/shop/web/target.yaml": "changed: true\n"})
        repository.poll()
        stale = change(repository)
        if stale_side_is == "first parent":
            remote.checkout("stale")
            remote.run("merge", "--quiet", "--no-ff", "-s", "ours", "-m", "Take one side", "main")
            remote.run("push", "--quiet", "origin", "HEAD:refs/heads/main")
        else:
            remote.run("merge", "--quiet", "--no-ff", "--no-commit", "-s", "ours", "stale")
            remote.run("checkout", "stale", "--", ".")
            remote.commit("Take one side")
            remote.push()
        repository.poll()
        assert repository.promotions.commit([stale])[WEB].result is PrimaryResult.SUPERSEDED

    def test_what_was_decided_from_a_commit_that_main_does_not_contain_is_superseded(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        remote.checkout("aside", new=True)
        for unknown in ("", "0" * 40, remote.publish("Aside", {"x": "1"})):
            gone = replace(change(repository), decided_from=unknown)
            assert repository.promotions.commit([gone])[WEB].result is PrimaryResult.SUPERSEDED

    def test_a_main_that_always_moves_ends_in_world_changed(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        busy = [lambda number=number: remote.publish(f"{number}", {"x": str(number)}) for number in range(20)]
        pushes = before_each_push(monkeypatch, *busy)
        with pytest.raises(RemoteMoved, match="moved on the remote"):
            repository.promotions.commit([change(repository)])
        assert 3 <= len(pushes) <= 10
        assert remote.show("main", PRIMARY) != SECOND

    def test_a_history_rewritten_in_between_is_not_committed_to(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        remote.publish("Second", {"x": "1"})
        repository.poll()
        before_each_push(monkeypatch, lambda: remote.force_push(to="HEAD~1"))
        with pytest.raises(RemoteMoved, match="rewritten"):
            repository.promotions.commit([change(repository)])
        assert len(remote.log()) == 1

    def test_a_protected_main_refuses_with_the_servers_words(self, repository: Repository, remote: GitRemote) -> None:
        remote.protect()
        with pytest.raises(PushRefused, match="changes of main must be made through a pull request"):
            repository.promotions.commit([change(repository)])
        assert len(remote.log()) == 1
        remote.unprotect()
        assert repository.promotions.commit([change(repository)])[WEB].result is PrimaryResult.COMMITTED

    def test_a_remote_that_is_down_is_transient(self, repository: Repository, remote: GitRemote) -> None:
        wanted = change(repository)
        remote.go_down()
        with pytest.raises(RemoteUnreachable):
            repository.promotions.commit([wanted])
        remote.come_back()
        assert repository.promotions.commit([wanted])[WEB].result is PrimaryResult.COMMITTED

    def test_it_works_before_the_first_poll(self, opened: Opener, repository: Repository) -> None:
        wanted = change(repository)
        assert opened(mirror="fresh").promotions.commit([wanted])[WEB].result is PrimaryResult.COMMITTED


class TestPromotionBranch:
    def test_it_is_one_commit_on_top_of_main(self, repository: Repository, remote: GitRemote) -> None:
        outcome = repository.promotions.offer([change(repository)])[WEB]
        assert outcome.result is PrimaryResult.COMMITTED
        assert remote.head(BRANCH) == outcome.commit
        assert remote.run("rev-parse", f"{BRANCH}^", cwd=remote.bare) == remote.head()
        assert remote.show(BRANCH, PRIMARY) == SECOND
        assert len(remote.log()) == 1

    def test_a_newer_candidate_updates_it_in_place(self, repository: Repository, remote: GitRemote) -> None:
        repository.promotions.offer([change(repository)])
        repository.promotions.offer([change(repository, tag="3.0.0")])
        assert remote.show(BRANCH, PRIMARY) == texts.primary("shop", "web", "3.0.0", 2).decode()
        assert remote.run("rev-parse", f"{BRANCH}^", cwd=remote.bare) == remote.head()

    def test_the_same_offer_is_left_alone_also_when_main_went_on(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        first = repository.promotions.offer([change(repository)])[WEB].commit
        remote.publish("Elsewhere", {"apps/shop/api/x.yaml": "a: 1"})
        repository.poll()
        again = repository.promotions.offer([change(repository)])[WEB]
        assert (again.result, again.commit, remote.head(BRANCH)) == (PrimaryResult.UNCHANGED, first, first)

    def test_a_new_primary_on_main_moves_the_offer_onto_it(self, repository: Repository, remote: GitRemote) -> None:
        repository.promotions.offer([change(repository, tag="3.0.0", version=3)])
        remote.publish("v2", {PRIMARY: SECOND})
        repository.poll()
        assert (
            repository.promotions.offer([change(repository, tag="3.0.0", version=3)])[WEB].result
            is PrimaryResult.COMMITTED
        )
        assert remote.run("rev-parse", f"{BRANCH}^", cwd=remote.bare) == remote.head()

    def test_what_others_pushed_to_it_stays_until_it_was_seen(self, repository: Repository, remote: GitRemote) -> None:
        first = repository.promotions.offer([change(repository)])[WEB].commit
        remote.checkout(BRANCH)
        remote.publish("Mine", {PRIMARY: "mine: true\n"})
        newer = replace(change(repository, tag="3.0.0"), seen=first)
        for _ in range(2):  # As last fetched, and once it is known.
            with pytest.raises(BranchMoved, match="gitops-bg/promote/shop/web"):
                repository.promotions.offer([newer])
            assert remote.show(BRANCH, PRIMARY) == "mine: true\n"
        repository.promotions.offer([replace(newer, seen=str(remote.head(BRANCH)))])
        assert remote.show(BRANCH, PRIMARY) == texts.primary("shop", "web", "3.0.0", 2).decode()
        assert len(remote.log(BRANCH)) == 2

    @pytest.mark.parametrize("seen", ["", None])
    def test_what_others_offer_while_it_is_pushed_stays(
        self,
        opened: Opener,
        repository: Repository,
        remote: GitRemote,
        monkeypatch: pytest.MonkeyPatch,
        seen: str | None,
    ) -> None:
        other = opened(mirror="other")
        other.poll()
        before_each_push(monkeypatch, lambda: other.promotions.offer([change(other)]))
        with pytest.raises(BranchMoved):
            repository.promotions.offer([replace(change(repository, tag="3.0.0"), seen=seen)])
        assert remote.show(BRANCH, PRIMARY) == SECOND

    def test_one_that_moved_keeps_no_other_from_being_written_or_deleted(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        api = change(repository, app=API, version=1, event=Event.DEPLOYED)
        repository.promotions.offer([change(repository)])
        elsewhere = replace(change(repository, tag="3.0.0"), seen="")
        with pytest.raises(BranchMoved) as moved:
            repository.promotions.offer([elsewhere, replace(api, seen="")])
        assert moved.value.branches == {BRANCH}
        assert set(repository.offers.promotions()) == {WEB, API}
        with pytest.raises(BranchMoved):
            repository.branches.withdraw({WEB: "", API: repository.offers.promotions()[API].commit})
        assert set(repository.offers.promotions()) == {WEB}
        assert remote.show(BRANCH, PRIMARY) == SECOND

    def test_main_that_moves_meanwhile_is_no_move_of_the_branch(
        self, repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = repository.promotions.offer([change(repository)])[WEB].commit
        newer = replace(change(repository, tag="3.0.0"), seen=first)
        before_each_push(monkeypatch, lambda: remote.publish("Elsewhere", {"apps/shop/api/x.yaml": "a: 1"}))
        assert repository.promotions.offer([newer])[WEB].result is PrimaryResult.COMMITTED

    def test_merging_it_promotes_and_the_commit_is_the_agents(self, repository: Repository, remote: GitRemote) -> None:
        offered = repository.promotions.offer([change(repository)])[WEB].commit
        remote.publish("Elsewhere", {"apps/shop/api/x.yaml": "a: 1"})
        remote.merge(BRANCH)
        repository.poll()
        assert repository.files(WEB)["primary.yaml"] == SECOND.encode()
        assert repository.source(WEB, "primary.yaml").commit == offered  # type: ignore[union-attr]

    def test_it_says_what_it_asks_for_who_does_and_why(self, repository: Repository, remote: GitRemote) -> None:
        for event in (Event.PROMOTED, Event.ROLLED_BACK):
            repository.promotions.offer(
                [change(repository, event=event, version=5 + len(event), by="Ada", reason="errors\nBg-By: Bob")]
            )
            repository.poll()
            found = repository.offers.promotions()[WEB]
            assert (found.asks_for, found.asked_by, found.reason) == (event, "Ada", "errors Bg-By: Bob")
        remote.pull()
        remote.checkout(BRANCH)
        remote.write(PRIMARY, SECOND)
        remote.commit("By hand")
        remote.push(permit=True)
        repository.poll()
        found = repository.offers.promotions()[WEB]
        assert (found.asks_for, found.asked_by, found.reason) == ("", "", ""), (
            "a commit of somebody who does not say so"
        )

    def test_revert_of_the_merge_and_another_promotion_ten_times(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        first = remote.show("main", PRIMARY)
        for _ in range(10):
            repository.poll()
            assert repository.promotions.offer([change(repository)])[WEB].result is PrimaryResult.COMMITTED
            merge = remote.merge(BRANCH)
            assert remote.show("main", PRIMARY) == SECOND
            repository.poll()
            repository.branches.withdraw({WEB: None})
            remote.revert(merge)
            remote.push()
            assert remote.show("main", PRIMARY) == first

    def test_withdrawing_deletes_it_and_may_be_repeated(self, repository: Repository, remote: GitRemote) -> None:
        repository.promotions.offer([change(repository)])
        repository.branches.withdraw({WEB: None, API: None})
        repository.branches.withdraw({WEB: None})
        assert remote.head(BRANCH) is None
        assert repository.offers.promotions() == {}

    def test_withdrawing_leaves_one_that_moved_until_it_was_seen(
        self, opened: Opener, repository: Repository, remote: GitRemote
    ) -> None:
        repository.promotions.offer([change(repository)])
        other = opened(mirror="other")
        other.poll()
        theirs = other.promotions.offer([change(other, tag="3.0.0")])[WEB].commit
        with pytest.raises(BranchMoved):
            repository.branches.withdraw({WEB: None})
        assert remote.head(BRANCH) == theirs
        repository.branches.withdraw({WEB: theirs})
        assert remote.head(BRANCH) is None

    def test_withdrawing_one_that_is_gone_ends_without_it(
        self, opened: Opener, repository: Repository, remote: GitRemote
    ) -> None:
        first = repository.promotions.offer([change(repository)])[WEB].commit
        other = opened(mirror="other")
        other.poll()
        repository.branches.withdraw({WEB: first})
        other.branches.withdraw({WEB: first})
        assert (remote.head(BRANCH), other.offers.promotions()) == (None, {})

    def test_an_offer_of_an_older_primary_is_superseded(self, repository: Repository, remote: GitRemote) -> None:
        stale = change(repository)
        repository.promotions.commit([change(repository, tag="1.7.0")])
        assert repository.promotions.offer([stale])[WEB].result is PrimaryResult.SUPERSEDED
        assert remote.head(BRANCH) is None

    def test_a_protected_main_takes_the_offer(self, repository: Repository, remote: GitRemote) -> None:
        remote.protect()
        assert repository.promotions.offer([change(repository)])[WEB].result is PrimaryResult.COMMITTED

    def test_a_first_deployment_can_be_offered(self, repository: Repository, remote: GitRemote) -> None:
        repository.promotions.offer([change(repository, app=API, version=1, event=Event.DEPLOYED)])
        found = repository.offers.promotions()[API]
        assert found.base_primary is None
        assert found.primary is not None

    def test_a_refused_branch_is_push_refused(self, repository: Repository, remote: GitRemote) -> None:
        remote.protect(BRANCH)
        with pytest.raises(PushRefused, match="protected branch hook declined"):
            repository.promotions.offer([change(repository)])


class TestSeeingPromotionBranches:
    def test_content_and_base_are_shown(self, repository: Repository, remote: GitRemote) -> None:
        offered = repository.promotions.offer([change(repository)])[WEB].commit
        promotion = repository.offers.promotions()[WEB]
        assert promotion.commit == offered
        assert promotion.primary is not None
        assert promotion.primary.content == SECOND.encode()
        assert promotion.base_primary is not None
        assert promotion.base_primary.content == texts.primary("shop", "web", "1.0.0", 1)

    def test_the_base_stays_when_main_goes_on(self, repository: Repository, remote: GitRemote) -> None:
        repository.promotions.offer([change(repository)])
        remote.publish("v9", {PRIMARY: "other: true\n"})
        repository.poll()
        assert repository.offers.promotions()[WEB].base_primary.content == texts.primary("shop", "web", "1.0.0", 1)  # type: ignore[union-attr]

    def test_a_merged_branch_starts_from_itself(self, repository: Repository, remote: GitRemote) -> None:
        repository.promotions.offer([change(repository)])
        remote.merge(BRANCH)
        repository.poll()
        promotion = repository.offers.promotions()[WEB]
        assert promotion.base_primary == promotion.primary

    def test_a_branch_of_a_person_is_shown_by_where_it_left_main(
        self, repository: Repository, remote: GitRemote
    ) -> None:
        remote.checkout(BRANCH, new=True)
        remote.publish("One", {PRIMARY: "one: 1\n"})
        remote.publish("Two", {PRIMARY: "two: 2\n"})
        repository.poll()
        promotion = repository.offers.promotions()[WEB]
        assert promotion.primary.content == b"two: 2\n"  # type: ignore[union-attr]
        assert promotion.base_primary.content == texts.primary("shop", "web", "1.0.0", 1)  # type: ignore[union-attr]

    def test_an_unrelated_branch_has_no_base(self, repository: Repository, remote: GitRemote) -> None:
        remote.run("checkout", "--quiet", "--orphan", BRANCH)
        remote.run("rm", "-rfq", ".")
        remote.publish("Alone", {"x": "1"})
        repository.poll()
        promotion = repository.offers.promotions()[WEB]
        assert (promotion.primary, promotion.base_primary) == (None, None)

    def test_asking_again_is_free_when_nothing_moved(self, repository: Repository) -> None:
        repository.promotions.offer([change(repository)])
        assert repository.offers.promotions() is repository.offers.promotions()


def _walks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions what was touched between two heads, from now on."""
    asked: list[str] = []
    real = touched_between

    def counted(mirror: Mirror, trees: Trees, before: str, head: str) -> frozenset[AppKey] | None:
        asked.append(before)
        return real(mirror, trees, before, head)

    monkeypatch.setattr(promotion, "touched_between", counted)
    return asked


def test_what_was_decided_from_one_commit_is_looked_up_once_for_all_apps(
    repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [change(repository), change(repository, app=API, version=1)]
    remote.publish("Elsewhere", {"x": "1"})
    repository.poll()
    walks = _walks(monkeypatch)
    repository.promotions.commit(changes)
    assert walks == [changes[0].decided_from]


def _looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often the heads of all branches are copied from now on."""
    looks, real = [0], Mirror.tracked

    def counted(self: Mirror) -> dict[str, str]:
        looks[0] += 1
        return real(self)

    monkeypatch.setattr(Mirror, "tracked", counted)
    return looks


def test_all_branches_are_looked_at_as_often_for_two_apps_as_for_one(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ten thousand apps, each such look costs as much as all branches."""
    one, two = [change(repository)], [change(repository), change(repository, app=API, version=1)]
    looks, taken = _looks(monkeypatch), []
    for changes in (one, two):
        for act in (
            repository.promotions.offer,
            repository.promotions.offer,
            lambda given: repository.branches.withdraw({each.subject: None for each in given}),
        ):
            before = looks[0]
            act(changes)
            taken.append(looks[0] - before)
    assert taken[:3] == taken[3:]


def test_a_thousand_changes_are_one_push(opened: Opener, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from pathlib import Path

    from tests.fixtures.repos.build import build

    remote = build("thousands", Path(str(tmp_path)) / "fixture", apps=1000, commits=1)
    repository = opened(str(remote))
    repository.poll()
    pushes = before_each_push(monkeypatch)
    changes: list[PrimaryChange] = []
    for app in repository.apps():
        content = texts.primary(app.namespace, app.name, "2.0.0", 2)
        movement = change(repository, app=WEB).movement.__class__(subject=app, event=Event.PROMOTED)
        changes.append(PrimaryChange(content, repository.head, movement))
    walks = _walks(monkeypatch)
    outcomes = repository.promotions.commit(changes)
    assert pushes == [1]
    assert walks == [], "main is where all of it was decided"
    assert len({outcome.commit for outcome in outcomes.values()}) == 1000
    assert repository.poll().changed == set(repository.apps())
    assert AppKey("team-9", "app-999") in outcomes

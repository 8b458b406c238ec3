"""release.yaml of an environment reaches main, or the branch that asks for it: once, whichever agent is first."""

from __future__ import annotations

import pytest

from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey, ReleaseId
from gitops_bg.core.names import entry_branch
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.commits import Movement
from gitops_bg.repo.write.promotion import Entry, PrimaryChange, PrimaryResult
from tests.integration.repo.conftest import WEB, Opener
from tests.support.git.remote import GitRemote

PATH, BRANCH = "apps/shop/web/prod/release.yaml", entry_branch("prod", WEB)
R12 = ReleaseId(12, "r1:" + "c" * 64, "9be1" * 10)


@pytest.fixture(autouse=True)
def folder(remote: GitRemote) -> None:
    """The app has a folder for the environment."""
    remote.publish("In prod", {"apps/shop/web/prod/overlay.yaml": "{}\n"})


def entering(repository: Repository, text: str = "release: 12\n", decided_from: str = "") -> PrimaryChange[AppKey]:
    movement = Movement(
        subject=WEB, event=Event.ENTERED, release=R12, environment="prod", skipped=("staging",), reason="INC-4711"
    )
    return PrimaryChange(text.encode(), decided_from or repository.head, movement, entry=Entry(PATH, BRANCH))


def test_it_is_one_commit_that_says_which_release_comes_in_where_and_what_it_passes_by(
    repository: Repository, remote: GitRemote
) -> None:
    repository.poll()
    outcome = repository.promotions.commit([entering(repository)])[WEB]
    assert outcome.result is PrimaryResult.COMMITTED
    assert remote.show("main", PATH) == "release: 12\n"
    message = remote.run("log", "-1", "--format=%B", "main", cwd=remote.bare)
    assert message.startswith("web: take r12 in prod [prod]\n\nReason: INC-4711\n")
    assert f"Bg-Event: entered\nBg-Release: r12 r1:{'c' * 64}\nBg-Environment: prod\nBg-Skipped: staging\n" in message


def test_of_two_agents_one_commits_and_the_other_sees_it_done(
    repository: Repository, opened: Opener, remote: GitRemote
) -> None:
    other = opened(mirror="other", cluster="prod-us")
    repository.poll()
    other.poll()
    head = repository.head
    assert repository.promotions.commit([entering(repository)])[WEB].result is PrimaryResult.COMMITTED
    commits = len(remote.log())
    assert other.promotions.commit([entering(other, decided_from=head)])[WEB].result is PrimaryResult.UNCHANGED
    assert len(remote.log()) == commits


def test_another_release_that_came_in_meanwhile_is_decided_on_anew(repository: Repository, remote: GitRemote) -> None:
    repository.poll()
    wanted = entering(repository)
    remote.publish("Another one", {PATH: "release: 13\n"})
    assert repository.promotions.commit([wanted])[WEB].result is PrimaryResult.SUPERSEDED
    assert remote.show("main", PATH) == "release: 13\n"


def test_an_app_that_left_the_environment_gets_nothing(repository: Repository, remote: GitRemote) -> None:
    remote.publish("Not in prod", {"apps/shop/web/prod": None})
    repository.poll()
    assert repository.promotions.commit([entering(repository)])[WEB].result is PrimaryResult.SUPERSEDED


def test_the_branch_that_asks_is_one_commit_updated_in_place(repository: Repository, remote: GitRemote) -> None:
    repository.poll()
    repository.mirror.environment = "prod"
    repository.promotions.offer([entering(repository)])
    repository.poll()
    first = remote.head(BRANCH)
    assert remote.show(BRANCH, PATH) == "release: 12\n"
    assert repository.promotions.offer([entering(repository)])[WEB].result is PrimaryResult.UNCHANGED
    assert remote.head(BRANCH) == first
    repository.promotions.offer([entering(repository, "release: 13\n")])
    repository.poll()
    assert remote.show(BRANCH, PATH) == "release: 13\n"
    assert remote.run("rev-list", "--count", f"main..{BRANCH}", cwd=remote.bare) == "1"
    repository.branches.delete({BRANCH: None})
    assert remote.head(BRANCH) is None

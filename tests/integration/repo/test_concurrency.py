"""Several agents and a person at one remote: nothing is lost, nothing is recorded twice, nobody waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.errors import RemoteMoved
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.repo.write.commits import Movement
from gitops_bg.repo.write.promotion import PrimaryChange, PrimaryOutcome, PrimaryResult
from tests.fixtures.repos import texts
from tests.integration.repo.conftest import WEB, change
from tests.integration.repo.ledger.test_ledger import batch, entry
from tests.support.git.remote import GitRefused, GitRemote

AGENTS = 5
ROUNDS = 3


def until_taken(act: Callable[[], object]) -> object:
    """As an agent does: look again as long as the world changes."""
    for _ in range(50):
        try:
            return act()
        except RemoteMoved:
            continue
    raise AssertionError("never taken")


@pytest.mark.slow
def test_several_agents_and_a_person_lose_no_ledger_entry(remote: GitRemote, tmp_path: Path) -> None:
    apps = [AppKey("shop", f"app-{number}") for number in range(AGENTS)]

    def agent(app: AppKey) -> None:
        settings = RepositorySettings(url=remote.url, cluster="prod", directory=tmp_path / app.name)
        with Repository(settings, sleep=lambda _: None) as repository:
            repository.poll()
            for number in range(1, ROUNDS + 1):
                until_taken(lambda number=number: repository.ledger.publish({app: batch(entry(number))}))

    def person() -> None:
        for number in range(ROUNDS):
            remote.publish(f"Person {number}", {"apps/shop/web/x.yaml": f"a: {number}"})

    with ThreadPoolExecutor(AGENTS + 1) as pool:
        done = [pool.submit(agent, app) for app in apps] + [pool.submit(person)]
        for one in done:
            one.result(timeout=120)
    with Repository(RepositorySettings(url=remote.url, cluster="prod", directory=tmp_path / "reader")) as reader:
        reader.poll()
        for app in apps:
            assert [found.entry.sequence for found in reader.history.of(app)] == list(range(ROUNDS, 0, -1))
    assert len(remote.log("gitops-bg/state/prod")) == AGENTS * ROUNDS
    assert len(remote.log()) == 1 + ROUNDS


def test_several_clusters_and_a_person_promote_on_one_main(remote: GitRemote, tmp_path: Path) -> None:
    apps = [AppKey("shop", f"app-{number}") for number in range(AGENTS)]
    files = {path: text.decode() for app in apps for path, text in texts.folder("shop", app.name).items()}
    remote.publish("Many", files)

    def agent(app: AppKey) -> PrimaryOutcome:
        settings = RepositorySettings(url=remote.url, cluster=app.name, directory=tmp_path / app.name)
        content, movement = texts.primary("shop", app.name, "1.0.0", 1), Movement(subject=app, event=Event.DEPLOYED)
        with Repository(settings, sleep=lambda _: None) as repository:
            repository.poll()
            wanted = PrimaryChange(content, repository.head, movement)
            return until_taken(lambda: repository.promotions.commit([wanted])[app])  # type: ignore[return-value]

    def person() -> None:
        for number in range(3):
            for _ in range(50):
                try:
                    remote.write("x", f"{number}")
                    remote.commit(f"Person {number}")
                    remote.push()
                    break
                except GitRefused:
                    remote.pull()

    with ThreadPoolExecutor(AGENTS + 1) as pool:
        human = pool.submit(person)
        outcomes = list(pool.map(agent, apps))
        human.result(timeout=120)
    assert {outcome.result for outcome in outcomes} <= {PrimaryResult.COMMITTED, PrimaryResult.UNCHANGED}
    subjects = [commit.subject for commit in remote.log()]
    assert sum(": deploy" in subject for subject in subjects) == AGENTS
    assert all(remote.show("main", f"apps/shop/{app.name}/primary.yaml") for app in apps)


def test_two_agents_that_promote_the_same_app_commit_once(remote: GitRemote, tmp_path: Path) -> None:
    barrier = threading.Barrier(4)

    def agent(number: int) -> PrimaryResult:
        settings = RepositorySettings(url=remote.url, cluster="prod", directory=tmp_path / str(number))
        with Repository(settings, sleep=lambda _: None) as repository:
            repository.poll()
            wanted = change(repository, tag=f"2.0.{number}")
            barrier.wait(timeout=60)
            outcome = until_taken(lambda: repository.promotions.commit([wanted])[WEB])
            assert isinstance(outcome, PrimaryOutcome)
            return outcome.result

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(agent, range(4)))
    assert sorted(results) == [PrimaryResult.COMMITTED] + [PrimaryResult.SUPERSEDED] * 3
    assert len(remote.log()) == 2


def test_one_repository_may_be_used_from_many_threads(repository: Repository) -> None:
    def work(number: int) -> int:
        for _ in range(5):
            repository.poll()
            assert set(repository.files(WEB)) == {"app.yaml", "primary.yaml", "target.yaml"}
            repository.ledger.publish({AppKey("shop", f"app-{number}"): batch(entry(1))})
        return number

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == list(range(8))
    repository.poll()
    assert len(repository.ledger.positions()) == 8

"""A worker sees one main whole: its head, its files and what Git says of them never come from two looks.

Found: three agents moved traffic back and forth, because one of them decided from the files of the main of before
under the name of the newest one, and took that for a promotion that somebody had taken back.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.core.errors import Transient
from gitops_bg.core.model.desired import Desired
from gitops_bg.core.model.main import Main, MainRead
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.ledger.ledger import Ledger
from gitops_bg.repo.ledger.policy_log import PolicyLog
from gitops_bg.repo.read.commits import Changes, CommitReader
from gitops_bg.repo.read.polling import Poller
from gitops_bg.repo.read.promotion_branches import PromotionBranches
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.repo.write.promotion import GroupBranches
from tests.fixtures.repos import texts
from tests.integration.agent.three_apps import WEB
from tests.support.git.remote import GitRemote

PARTS = (Repository, Poller, Ledger, PolicyLog, CommitReader, Changes, PromotionBranches, GroupBranches)
QUESTIONS = [
    (part, name) for part in PARTS for name, value in vars(part).items() if callable(value) and not name.startswith("_")
]
"""Everything that the Git thread asks of Git: between two of them a worker may ask, too."""


class Worker:
    """Asks the catalog for an app again and again: before and after everything that the Git thread does in Git."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._asking = False
        self.seen: list[tuple[str, str, str, int]] = []
        """Of each answer: the head of main, the folder and the image of the app, and the number of the look."""

    def ask(self) -> None:
        if self._asking or not self._catalog.seen:  # its own questions to Git are not ours
            return
        self._asking = True
        try:
            said = self._desired()
            self.seen.append((said.commit, said.tree, _image(said), said.looks.seen))
        finally:
            self._asking = False

    def _desired(self) -> Desired:
        reading = self._catalog.reading
        entry = reading.entry(WEB)
        assert entry is not None
        return self._catalog.desired(
            reading, WEB, entry.config, Record(), MainRead(Main(reading.followed.commit, 0, entry.tree))
        )


def _image(said: Desired) -> str:
    assert said.target
    return said.target.snapshot.text.partition("registry.example/web:")[2].partition('"')[0]


@pytest.fixture
def worker(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """Asks from its first question on."""
    made = Worker(catalog)
    for part, name in QUESTIONS:
        original = getattr(part, name)

        def asked(*args: object, original: object = original, **more: object) -> object:
            made.ask()
            answer = original(*args, **more)  # type: ignore[operator]
            made.ask()
            return answer

        monkeypatch.setattr(part, name, asked)
    return made


def _push(remote: GitRemote, tag: str) -> str:
    remote.write(f"apps/{WEB}/target.yaml", texts.target(WEB.namespace, WEB.name, tag).decode())
    commit = remote.commit(f"web {tag}")
    remote.push()
    return commit


def _read(catalog: Catalog, remote: GitRemote) -> str:
    remote.commit("Begin")
    remote.push()
    first = _push(remote, "v1")
    catalog.refresh()
    return first


def test_whenever_a_worker_asks_it_sees_one_main_whole(catalog: Catalog, remote: GitRemote, worker: Worker) -> None:
    first = _read(catalog, remote)
    worker.seen.clear()
    worker.ask()
    second = _push(remote, "v2")
    assert catalog.refresh().dirty == {WEB}
    worker.ask()
    before, after = worker.seen[0], worker.seen[-1]
    assert [(head, image) for head, _, image, _ in (before, after)] == [(first, "v1"), (second, "v2")]
    assert before[1] != after[1]
    assert after[3] > before[3]
    assert len(worker.seen) > 10
    assert set(worker.seen) == {before, after}


def test_reading_that_fails_half_way_changes_nothing_and_is_made_up_for(
    catalog: Catalog, remote: GitRemote, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    _read(catalog, remote)
    worker.seen.clear()
    worker.ask()
    second = _push(remote, "v2")
    with monkeypatch.context() as broken:
        broken.setattr(Repository, "files_of", _away)
        with pytest.raises(Transient):
            catalog.refresh()
    worker.ask()
    assert len(set(worker.seen)) == 1
    assert catalog.refresh().dirty == {WEB}
    worker.ask()
    assert worker.seen[-1][:3] == (second, worker.seen[-1][1], "v2")


def _away(*_: object) -> None:
    raise Transient("the mirror lacks an object, and the remote is away")


def test_a_folder_of_a_namespace_that_the_agent_does_not_have_is_left_out_and_named_once(
    remote: GitRemote, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    remote.publish("first", {"apps/pay/web/target.yaml": "kind: Deployment\n"})
    settings = RepositorySettings(url=remote.url, directory=tmp_path / "mirror", cluster="test")
    with Repository(settings) as repository:
        catalog = Catalog(repository, (WEB.namespace,))
        catalog.refresh()
        remote.publish("second", {"apps/pay/web/target.yaml": "kind: Deployment # again\n"})
        catalog.refresh()
    assert {app.namespace for app in catalog.apps()} == {WEB.namespace}
    assert [each for each in caplog.messages if "left out" in each] == [
        "apps/pay is left out: this agent has other namespaces (gitops-bg install --watch-namespace, for each)"
    ]


def test_a_former_name_is_known_until_a_readable_file_says_otherwise(catalog: Catalog, remote: GitRemote) -> None:
    """Were it forgotten with a slip in the new folder, the app of that name would be deleted by its own policy."""
    folder = f"apps/{WEB.namespace}/shop"
    plain = texts.app(WEB.namespace, "shop").decode()
    moved = plain.replace("spec:\n", f"spec:\n  adopt: {{app: {WEB.name}}}\n", 1)
    target = texts.target(WEB.namespace, "shop", "v1").decode()

    def known_after(app_file: str | None) -> dict[AppKey, str]:
        remote.publish("shop", {f"{folder}/app.yaml": app_file, f"{folder}/target.yaml": app_file and target})
        catalog.refresh()
        return dict(catalog.reading.moved)

    assert known_after(moved) == {WEB: "shop"}
    assert known_after("spec: [") == {WEB: "shop"}
    assert known_after(plain) == {}
    assert known_after(moved) == {WEB: "shop"}
    assert known_after(None) == {}

"""/api/v1/groups over real HTTP: every status of Netcracker's control plane, and a commit for each change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.version import GroupKey
from gitops_bg.web.agent_port import AskedAnswer, DeletedAnswer, MessageAnswer, VersionRow
from gitops_bg.web.app import application
from gitops_bg.web.server import WebServer
from tests.support.groups import Store
from tests.support.scenario import Scenario
from tests.support.waiting import eventually

TOKEN = b"correct horse"


class Api:
    """What a pipeline asks of the group `store`."""

    def __init__(self, client: httpx.Client, namespace: str) -> None:
        self._client = client
        self.path = f"/api/v1/groups/{namespace}/store"

    def __call__(self, method: str, path: str, token: bytes = TOKEN) -> tuple[int, Any]:
        answer = self._client.request(method, self.path + path, headers={"Authorization": f"Bearer {token.decode()}"})
        TypeAdapter(self._shape(method, answer.is_success)).validate_json(answer.content, strict=True, extra="forbid")
        return answer.status_code, answer.json()

    @staticmethod
    def _shape(method: str, done: bool) -> Any:
        """What docs/reference/api.md promises."""
        return (
            {"GET": list[VersionRow], "POST": AskedAnswer, "DELETE": DeletedAnswer}[method] if done else MessageAnswer
        )

    def versions(self) -> str:
        status, rows = self("GET", "/versions")
        assert status == 200
        return " ".join(f"{row['version']}{row['stage'][0]}" for row in rows)


@pytest.fixture
def store(world: Scenario) -> Store:
    store = Store(world)
    store.begin()
    world.wait_idle()
    return store


@pytest.fixture
def api(store: Store) -> Iterator[Api]:
    with asking(store) as api:
        yield api


@contextmanager
def asking(store: Store) -> Iterator[Api]:
    agent = store.world.agent
    assert agent is not None
    agent.api_token = TOKEN
    with WebServer(application(agent), port=0) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        yield Api(client, store.world.namespace)


def test_a_group_is_promoted_rolled_back_and_a_version_deleted_by_commits(api: Api, store: Store) -> None:
    assert api.versions() == "v1A v2C"
    status, asked = api("POST", "/promote/v2?archiveSize=3")
    assert (status, [row["version"] for row in asked["versions"]]) == (202, ["v1", "v2"])
    assert store.world.remote.head() == asked["commit"]
    assert store.world.remote.log()[0].subject == "store: promote v2"
    assert "archiveSize: 3" in (store.world.remote.show("main", f"{store.folder}/group.yaml") or "")
    status, again = api("POST", "/promote/v2?archiveSize=3")
    assert (status, again.get("commit", "")) in ((202, ""), (409, ""))
    store.wait("v1L v2A")

    bad = store.version("v3", tag="bad-image", cart="/cart")
    store.spec["active"] = "v3"
    store.world.publish("v3", {**store.group(), **bad})
    store.wait("v1L v2A v3C", "Waiting")
    status, asked = api("POST", "/rollback")
    assert (status, bool(asked["commit"])) == (202, True)
    assert store.world.remote.log()[0].subject == "store: roll back to v2", "of a promotion that waits: to what serves"
    store.wait("v1L v2A v3C", "Progressing")
    store.world.publish("Without v3", dict.fromkeys(bad))
    store.wait("v1L v2A")

    status, asked = api("POST", "/rollback")
    assert (status, bool(asked["commit"])) == (202, True)
    store.wait("v1A v2C")
    status, row = api("DELETE", "/versions/v2")
    assert (status, row["version"], row["stage"]) == (200, "v2", "Candidate")
    store.wait("v1A")
    assert api.versions() == "v1A"


def test_of_two_requests_at_once_the_second_is_told_that_main_has_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 44 of B9: exactly one 202. Both come before the agent has read what the first one made of main."""
    store.world.publish("The next one", store.version("v3", cart="/cart"))
    store.wait("v1A v2C v3C")
    store.world.wait_idle()
    agent = store.world.agent
    assert agent is not None
    monkeypatch.setattr(agent.group_commands, "_pushed", lambda: None)
    with asking(store) as api:
        assert api("POST", "/promote/v2")[0] == 202
        head = store.world.remote.head()
        assert api("POST", "/promote/v2")[0] == 202, "the same again is no other wish"
        for method, path in (("POST", "/promote/v3"), ("DELETE", "/versions/v2")):
            code, said = api(method, path)
            assert (code, said["reason"]) == (409, "WorldChanged")
            assert "group.yaml names v2 and no longer v1" in said["message"]
        assert store.world.remote.head() == head
    store.world.wake()
    store.wait("v1L v2A")


REFUSED = [
    ("POST", "/promote/v9", 404, "NoSuchVersion"),
    ("POST", "/promote/v1", 409, "NotACandidate"),
    ("POST", "/promote/v2?archiveSize=many", 400, None),
    ("POST", "/promote/v2?archiveSize=2147483648", 400, None),
    ("POST", f"/promote/v2?archiveSize={'9' * 5000}", 400, None),
    ("POST", "/promote/v2?archiveSize=-1", 400, "WrongArchiveSize"),
    ("POST", "/rollback", 409, "NoLegacyVersion"),
    ("DELETE", "/versions/v1", 409, "IsActive"),
    ("DELETE", "/versions/v9", 404, "NoSuchVersion"),
]


def test_what_the_lifecycle_rejects_has_its_status_and_commits_nothing(api: Api, store: Store) -> None:
    head = store.world.remote.head()
    for method, path, status, reason in REFUSED:
        code, said = api(method, path)
        assert (code, said.get("reason")) == (status, reason), (method, path, said)
        assert said["message"]
    api.path = api.path.replace("store", "other")
    assert api("POST", "/rollback")[0] == api("GET", "/versions")[0] == 404
    assert store.world.remote.head() == head


def test_where_no_branch_takes_a_commit_and_where_group_yaml_has_a_mistake_nothing_is_done(
    api: Api, store: Store
) -> None:
    store.world.remote.refuse("*")
    status, said = api("POST", "/promote/v2")
    assert (status, said["reason"]) == (403, "PushRefused")
    assert "make the change yourself" in said["message"]
    store.world.remote.unprotect()
    store.spec["archiveSize"] = -1
    store.activate("v1")
    store.wait("v1A v2C", "Invalid")
    status, said = api("POST", "/promote/v2")
    assert (status, said["reason"]) == (409, "InvalidInput")


def test_of_two_requests_at_once_on_a_protected_main_the_second_is_told_that_the_branch_has_changed(
    api: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 44 of B9 again: each looks at the branch before the other writes it. Later, a new wish replaces it."""
    store.world.publish("The next one", store.version("v3", cart="/cart"))
    store.wait("v1A v2C v3C")
    remote, branch = store.world.remote, f"gitops-bg/promote-groups/{store.world.namespace}/store"
    remote.protect()
    agent = store.world.agent
    assert agent is not None
    read_record, others = agent.group_commands._record, [("POST", "/promote/v2")]
    meanwhile: list[int] = []

    def record_while_another_one_asks(group: GroupKey) -> GroupRecord:
        if others:
            meanwhile.append(api(*others.pop())[0])
        return read_record(group)

    monkeypatch.setattr(agent.group_commands, "_record", record_while_another_one_asks)
    code, said = api("POST", "/promote/v3")
    assert (meanwhile, code, said["reason"]) == ([202], 409, "BranchMoved")
    assert f"something else on {branch}" in said["message"]
    assert 'active: "v2"' in (remote.show(branch, f"{store.folder}/group.yaml") or "")
    assert api("POST", "/promote/v3")[0] == 202
    assert 'active: "v3"' in (remote.show(branch, f"{store.folder}/group.yaml") or "")


def test_where_main_takes_no_commit_from_the_agent_a_branch_has_every_wish_for_people_to_merge(
    api: Api, store: Store
) -> None:
    """Nobody has merged the first one yet, and both were answered."""
    store.world.publish("More", store.version("v3", cart="/cart") | store.version("v4", cart="/cart"))
    store.wait("v1A v2C v3C v4C")
    remote, branch = store.world.remote, f"gitops-bg/promote-groups/{store.world.namespace}/store"
    remote.protect()
    head = remote.head()
    for method, path, code in (
        ("DELETE", "/versions/v3", 202),
        ("POST", "/promote/v3", 409),
        ("POST", "/promote/v2", 202),
        ("DELETE", "/versions/v2", 409),
        ("DELETE", "/versions/v4", 202),
    ):
        assert api(method, path)[0] == code, (method, path)
    status, said = api("POST", "/promote/v2")
    assert (status, said["branch"], said["commit"]) == (202, branch, remote.head(branch))
    assert api("POST", "/promote/v2")[1]["commit"] == said["commit"], "asked again, it is the same commit"
    assert "pullRequest" not in said, "without a forge there is none"
    assert (remote.head(), store.stages()) == (head, "v1A v2C v3C v4C")
    assert 'active: "v2"' in (remote.show(branch, f"{store.folder}/group.yaml") or "")
    assert remote.show(branch, f"{store.folder}/v3/cart/target.yaml") is None
    assert remote.show(branch, f"{store.folder}/v4/cart/target.yaml") is None
    assert remote.show(branch, f"{store.folder}/v2/cart/target.yaml") is not None
    remote.merge(branch)
    store.world.wake()
    store.wait("v1L v2A")
    eventually(lambda: remote.head(branch) is None, what="the branch that main has is gone")

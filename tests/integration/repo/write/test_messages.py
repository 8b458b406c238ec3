"""Users' text cannot forge the messages of our commits; commits can be signed."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gitops_bg.agent.operate.commits import CommitPlan, commit
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey, Color, Source, Stage, Version
from gitops_bg.repo.read.promotion_branches import cluster_in
from gitops_bg.repo.read.reverts import markers_in
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.commits import Movement, Requester, asking, blob_id, ledger_message, trailers
from gitops_bg.repo.write.promotion import PrimaryChange
from gitops_bg.spec.app.primary import render_primary
from gitops_bg.spec.manifests.configuration import Configuration, configuration_of
from tests.integration.repo.conftest import API, NOON, WEB, Opener, change
from tests.integration.repo.ledger.test_ledger import batch, entry
from tests.support.git.remote import GitRemote
from tests.support.waiting import HANGS

FORGED = "fine\n\nBg-Approved-By: root\nBg-Event: rolled-back\r\x85Bg-App: a/b\u2028Bg-To: v9"


def test_the_commit_on_main_asks_and_says_why(repository: Repository, remote: GitRemote) -> None:
    facts = {"rollout": 4, "source_commit": "a" * 40, "by": "ada"}
    wanted = change(repository, **facts)
    repository.promotions.commit([wanted])
    origin, goal = wanted.movement.from_digest, wanted.movement.to_digest
    assert remote.log()[0].subject == f"web: promote v1 ({origin[3:13]}) → v2 ({goal[3:13]}) [prod]"
    assert "\nReason: all gates are open\n" in remote.message()
    output = remote.run("log", "-1", "--format=%(trailers:key=Bg-By,valueonly)", "main", cwd=remote.bare)
    assert output.split() == ["ada"]


def test_user_text_cannot_forge_a_trailer(repository: Repository, remote: GitRemote) -> None:
    repository.promotions.commit([change(repository, reason=FORGED, by=FORGED)])
    output = remote.run("log", "-1", "--format=%(trailers:only,unfold)", "main", cwd=remote.bare)
    names = [line.partition(":")[0] for line in output.splitlines() if line]
    assert names == ["Bg-App", "Bg-Event", "Bg-From", "Bg-To", "Bg-By", "Bg-Reason"]
    lines = remote.message().splitlines()
    assert sum(line.startswith("Bg-Event:") for line in lines) == 1


def test_a_reason_cannot_pass_for_a_revert(repository: Repository, remote: GitRemote) -> None:
    repository.promotions.commit([change(repository, reason=f"This reverts commit {'a' * 40}.")])
    assert not markers_in(remote.message())


def test_long_and_unprintable_text_becomes_one_short_line() -> None:
    assert one_line("a\x00b\tc\n\x1b[31md") == "a b c [31md"
    assert len(one_line("x" * 10_000)) == 500


@pytest.mark.parametrize("event", Event)
def test_every_event_has_words_in_both_kinds_of_commit(event: Event) -> None:
    movement = Movement(subject=WEB, event=event, to_version=2, to_digest="v1:abcdef0123456789")
    assert asking(movement, "prod").startswith("web: ")
    told = ledger_message([movement], "prod").splitlines()
    assert told[0].endswith("v2 (abcdef0123) [prod]")
    assert told[-4:] == [*trailers(movement), "Bg-Ledger: prod"]
    assert "Bg-Ledger" not in asking(movement, "prod"), "it belongs to the ledger alone"


def test_a_commit_of_somebody_who_knows_no_cluster_names_none() -> None:
    """Found so: it named one called default, and every agent left the promotion branch to that one."""
    movement = Movement(subject=WEB, event=Event.ROLLED_BACK, to_version=2, to_digest="v1:abcdef0123456789")
    message = asking(movement, "")
    assert message.splitlines()[0].endswith("v2 (abcdef0123)")
    assert (cluster_in(message), cluster_in(asking(movement, "prod"))) == ("", "prod")


ONE, TWO = "v1:1111111111222222", "v1:abcdef0123456789"
BOTH = {"from_version": 1, "from_digest": ONE, "to_version": 2, "to_digest": TWO}
SUBJECTS = {
    "from tag to tag": (BOTH | {"from_tag": "1.0.0", "to_tag": "1.1.0"}, "web: promoted 1.0.0 (v1) → 1.1.0 (v2)"),
    "versions without tags": (BOTH, "web: promoted v1 (1111111111) → v2 (abcdef0123)"),
    "where one tag is unknown": (BOTH | {"to_tag": "1.1.0"}, "web: promoted v1 (1111111111) → 1.1.0 (v2)"),
    "the first version": (
        {"to_version": 1, "to_digest": ONE, "to_tag": "1.0.0"},
        "web: promoted 1.0.0 (v1)",
    ),
    "a version alone, without a tag": ({"to_version": 1, "to_digest": ONE}, "web: promoted v1 (1111111111)"),
    "one that is left": ({"from_version": 1, "from_digest": ONE, "from_tag": "1.0.0"}, "web: promoted 1.0.0 (v1)"),
    "one that is left, without a tag": ({"from_version": 1, "from_digest": ONE}, "web: promoted v1 (1111111111)"),
    "versions without numbers": (
        {"from_digest": ONE, "to_digest": TWO, "from_tag": "1.0.0", "to_tag": "1.1.0"},
        "web: promoted 1.0.0 (1111111111) → 1.1.0 (abcdef0123)",
    ),
    "no version": ({}, "web: promoted"),
    "a tag that would be a line": (
        BOTH | {"from_tag": "1\nBg-Event: x", "to_tag": "2"},
        "web: promoted 1 Bg-Event: x (v1) → 2 (v2)",
    ),
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_subject_says_the_versions_as_people_know_them(name: str) -> None:
    facts, said = SUBJECTS[name]
    assert (
        ledger_message([Movement(subject=WEB, event=Event.PROMOTED, **facts)], "prod").splitlines()[0]
        == f"{said} [prod]"
    )


def named(*apps: str) -> list[Movement]:
    """An event of each app."""
    return [Movement(subject=AppKey(*app.split("/")), event=Event.PROMOTED, **BOTH) for app in apps]


BATCHES = {
    "few events of one app": (
        named("shop/web", "shop/web"),
        "web: promoted v1 (1111111111) → v2 (abcdef0123), promoted v1 (1111111111) → v2 (abcdef0123)",
    ),
    "many events of one app": (named(*["shop/web"] * 4), "4 events of web"),
    "several apps, each once": (named("shop/web", "shop/api", "shop/web"), "3 events of web, api"),
    "apps with one name": (named("a/web", "b/web", "b/api"), "3 events of a/web, b/web, api"),
    "as many apps as fit in 72 characters": (
        named("shop/app-000000", *(f"shop/app-000000{number}" for number in range(1, 5))),
        "5 events of app-000000, app-0000001, app-0000002, app-0000003 and 1 more",
    ),
    "and none that would be the 73rd": (
        named(*(f"shop/app-000000{number}" for number in range(5))),
        "5 events of app-0000000, app-0000001, app-0000002 and 2 more",
    ),
    "of ten thousand as many": (
        named(*(f"shop/a{number}" for number in range(10_000))),
        "10000 events of a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 and 9990 more",
    ),
    "one app at least": (named("shop/" + "a" * 63, "shop/web"), f"2 events of {'a' * 63} and 1 more"),
}


@pytest.mark.parametrize("name", BATCHES)
def test_subject_of_a_batch_says_which_apps(name: str) -> None:
    movements, said = BATCHES[name]
    assert ledger_message(movements, "prod").splitlines()[0] == f"{said} [prod]"


def test_an_event_without_versions_reads_well() -> None:
    told = ledger_message([Movement(subject=WEB, event=Event.SUSPENDED, by="ada", reason="incident 12")], "prod")
    assert told.startswith("web: suspended [prod]\n\nReason: incident 12\n\nBg-App: shop/web\n")


def test_author_names_cannot_break_a_commit(opened: Opener, remote: GitRemote) -> None:
    repository = opened(author=("a <b>\ncommitter c", "x@y>\n"))
    repository.poll()
    repository.promotions.commit([change(repository)])
    assert (
        remote.run("log", "-1", "--format=%an|%ae|%cn", "main", cwd=remote.bare)
        == "a b committer c|x@y|a b committer c"
    )


@pytest.fixture
def key(tmp_path: Path) -> Path:
    key = tmp_path / "signing key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)], check=True, timeout=HANGS)
    return key


ADA = Requester(name="Ada\ncommitter <x>", email="ada@example.com>", subject=f"https://id#1\n{FORGED}", via="dashboard")


def _people(remote: GitRemote) -> str:
    return remote.run("log", "-1", "--format=%an|%ae|%cn|%ce", "main", cwd=remote.bare)


def _trailers(remote: GitRemote) -> list[str]:
    output = remote.run("log", "-1", "--format=%(trailers:only,unfold)", "main", cwd=remote.bare)
    return [line.partition(":")[0] for line in output.splitlines() if line]


@pytest.mark.parametrize("signs", [False, True])
def test_who_asks_the_agent_for_a_commit_is_its_author(
    opened: Opener, remote: GitRemote, key: Path, signs: bool
) -> None:
    repository = opened(signing_key=key if signs else None)
    repository.poll()
    wanted = "Ada committer x|ada@example.com|gitops-bg|gitops-bg@localhost"
    repository.promotions.commit([change(repository, by=str(ADA), requester=ADA)])
    assert _people(remote) == wanted
    of_primary = ["Bg-App", "Bg-Event", "Bg-From", "Bg-To", "Bg-By", "Bg-Subject", "Bg-Via", "Bg-Reason"]
    assert _trailers(remote) == of_primary
    edits = {repository.path_of(WEB, "app.yaml"): lambda data: data + b"# looked at\n"}
    plan = CommitPlan(edits, f"web: suspend{FORGED}", FORGED, requester=ADA)
    commit(repository, plan)
    assert (_people(remote), _trailers(remote)) == (wanted, ["Bg-By", "Bg-Subject", "Bg-Via", "Bg-Reason"])


def test_blob_ids_are_those_of_git(remote: GitRemote) -> None:
    (remote.clone / "x").write_bytes(b"hello\n")
    assert blob_id(b"hello\n", "0" * 40) == remote.run("hash-object", "x")
    assert len(blob_id(b"", "0" * 64)) == 64


class TestSigning:
    def verify(self, remote: GitRemote, key: Path, *commits: str) -> None:
        allowed = key.with_suffix(".allowed")
        allowed.write_text(f"gitops-bg@localhost {key.with_name(key.name + '.pub').read_text()}")
        options = ("-c", "gpg.format=ssh", "-c", f"gpg.ssh.allowedSignersFile={allowed}")
        for each in commits:
            remote.run(*options, "verify-commit", each, cwd=remote.bare)

    def test_promotions_offers_and_ledger_are_signed(self, key: Path, opened: Opener, remote: GitRemote) -> None:
        repository = opened(signing_key=key)
        repository.poll()
        repository.promotions.offer([change(repository)])
        repository.promotions.commit([change(repository), change(repository, app=API, version=1)])
        repository.ledger.publish({WEB: batch(entry(1))})
        state, offer = "gitops-bg/state/prod", "gitops-bg/promote/shop/web"
        self.verify(remote, key, "main", "main^", state, offer)
        assert remote.message().startswith("api: promote")
        assert [commit.subject for commit in remote.log()][-1] == "Add web and api"
        assert remote.log()[0].author == "gitops-bg"

    def test_without_a_key_nothing_is_signed(self, repository: Repository, remote: GitRemote) -> None:
        repository.promotions.commit([change(repository)])
        assert "gpgsig" not in remote.run("cat-file", "commit", "main", cwd=remote.bare)


def with_configuration(repository: Repository, number: int, *contents: Configuration) -> PrimaryChange:
    """A promotion to a version that uses this configuration."""
    plain = change(repository, version=number)
    snapshot = snapshot_of({"spec": {"containers": [{"name": "web", "image": "web:1"}]}}, [one.ref for one in contents])
    version = Version(number, snapshot, Color.BLUE, Stage.CANDIDATE, Source("a" * 40), 1, NOON)
    return replace(plain, content=render_primary(WEB, version, contents).encode())


def config_map(name: str, **data: str) -> Configuration:
    return configuration_of("ConfigMap", name, {"data": data})


def secret(name: str, **data: str) -> Configuration:
    return configuration_of("Secret", name, {"stringData": data})


def configuration_in_message(remote: GitRemote, ref: str) -> list[str]:
    return [line for line in remote.message(ref).splitlines() if line.startswith(("Configuration", "- "))]


@pytest.mark.parametrize("place", ["main", "branch"])
def test_a_change_of_configuration_is_told_by_name_and_key_and_never_by_value(
    repository: Repository, remote: GitRemote, place: str
) -> None:
    web, db = config_map("web", url="one", old="x"), secret("db", password="hunter2")
    repository.promotions.commit([with_configuration(repository, 2, web, db)])
    assert configuration_in_message(remote, "main") == ["Configuration:", "- ConfigMap web added", "- Secret db added"]
    repository.poll()
    later = with_configuration(repository, 3, config_map("web", url="two"), secret("db", password="hunter3"))
    if place == "main":
        repository.promotions.commit([later])
    else:
        repository.promotions.offer([later])
    ref = "main" if place == "main" else "gitops-bg/promote/shop/web"
    assert configuration_in_message(remote, ref) == [
        "Configuration:",
        "- ConfigMap web (url changed; old removed)",
        "- Secret db (password changed)",
    ]
    for value in ("hunter2", "aHVudGVyMg", "hunter3", "aHVudGVyMw"):
        assert value not in remote.message(ref)
    output = remote.run("log", "-1", "--format=%(trailers:only,unfold)", ref, cwd=remote.bare)
    assert output.splitlines()[0] == "Bg-App: shop/web"


def test_a_version_that_uses_no_configuration_any_more_says_so(repository: Repository, remote: GitRemote) -> None:
    repository.promotions.commit([with_configuration(repository, 2, config_map("web", url="one"))])
    repository.poll()
    repository.promotions.commit([change(repository, version=3)])
    assert configuration_in_message(remote, "main") == ["Configuration:", "- ConfigMap web removed"]


def test_a_promotion_without_configuration_says_nothing_of_it(repository: Repository, remote: GitRemote) -> None:
    repository.promotions.commit([change(repository)])
    assert configuration_in_message(remote, "main") == []

"""An agent that reads main only as far as listed keys signed it: what goes live, what is held, and how it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.settings import VerificationSettings
from tests.support.cluster.clusters import SandboxCluster
from tests.support.groups import Store
from tests.support.scenario import App, Scenario, scenario
from tests.support.signers import Key, make_key, signing
from tests.support.waiting import eventually


@dataclass
class Verified:
    """A scenario whose agent has Ada's key, and its own."""

    world: Scenario
    ada: Key
    agent: Key
    file: Path

    def user_signs(self, key: Key | None) -> None:
        """Whether the user signs from now on."""
        signing(self.world.remote, key)

    def vouch(self, last: str) -> str:
        """Merge the head of main onto the last verified commit, signed; pushed without force."""
        self.user_signs(self.ada)
        head = self.world.remote.head()
        assert head is not None
        self.world.remote.run("checkout", "--quiet", "-B", "main", last)
        self.world.remote.run("merge", "--quiet", "--no-ff", "-m", "Vouch for what came in unsigned", head)
        return self.world.push()


@pytest.fixture
def verified(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Verified]:
    ada, agent = make_key(tmp_path, "ada"), make_key(tmp_path, "agent")
    file = tmp_path / "allowed_signers"
    file.write_text(ada.line("ada", 'namespaces="git"') + agent.line("gitops-bg"))
    git = {"verification": VerificationSettings(signers_file=file), "signing_key": agent.private}
    with scenario(sandbox_cluster, tmp_path, git=git) as world:
        made = Verified(world, ada, agent, file)
        made.user_signs(ada)
        yield made


def held(app: App, reason: str = "NotSigned") -> str:
    """Wait until the app says that main is held; the message."""
    app.wait(lambda: app.condition("SourceVerified")["reason"] == reason, f"SourceVerified says {reason}")
    assert app.condition("SourceVerified")["status"] == "False"
    assert app.condition("GitReachable")["status"] == "Absent"
    return str(app.condition("SourceVerified")["message"])


def test_the_whole_story(verified: Verified) -> None:
    world = verified.world
    world.start()
    app = world.app().deploy("v1")
    assert app.condition("SourceVerified")["status"] == "Absent"
    app.promote("v2")
    world.wait_idle()
    last = world.remote.head()
    assert last is not None

    verified.user_signs(None)
    commit = app.push_image("v3")
    message = held(app)
    assert message.startswith(f"commit {commit[:10]} by Ada Pusher is not signed: main is read up to {last[:10]}; ")
    verified.user_signs(verified.ada)
    later = app.push_image("v4")
    world.wait_idle()
    assert (app.live_tag(), app.offered(), sorted(app.versions())) == ("v2", False, ["v1", "v2"])
    assert world.remote.head() == later, "the agent wrote nothing on top"
    assert held(app) == message, "a signed commit on top does not vouch for what is below it"

    verified.vouch(last)
    app.wait_condition("SourceVerified", "Absent")
    app.merge_promotion("v4")
    app.wait_live("v4")
    app.wait_told()
    settings = ("-c", f"gpg.ssh.allowedSignersFile={verified.file}")
    for branch in ("main", "gitops-bg/state/test"):
        commit = str(world.remote.head(branch))
        world.remote.run(*settings, "verify-commit", commit, cwd=world.remote.bare)


def test_a_restart_with_a_new_mirror_while_main_is_held(verified: Verified) -> None:
    """What the records were decided from counts as verified: drift is still mended, and nothing new comes in."""
    world = verified.world
    world.start()
    app = world.app().deploy("v1")
    verified.user_signs(None)
    app.push_image("v2")
    message = held(app)
    world.restart(fresh_mirror=True)
    world.wait_idle()
    assert (held(app), app.live_tag(), sorted(app.versions())) == (message, "v1", ["v1"])
    assert world.agent is not None
    assert world.agent.catalog.seen


def test_a_main_of_which_nothing_is_verified(verified: Verified, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another history, in a new mirror: apps keep what they serve, and say why; no signature on top ends that, since
    what is below it would come with it, but main as it was does.
    """
    world = verified.world
    world.start()
    app = world.app().deploy("v1")
    world.stop()
    verified.user_signs(None)
    remote = world.remote
    remote.pull()
    before = remote.tip
    remote.run("checkout", "--quiet", "--orphan", "other")
    remote.write(f"{app.folder}/target.yaml", app.target_yaml("v9"))
    remote.commit("Another history")
    remote.force_push()
    monkeypatch.setattr(Mirror, "fetch_commit", lambda *_: False)  # as a remote that has forgotten it
    remote.run("branch", "--quiet", "-f", "main", "other")
    remote.run("checkout", "--quiet", "main")
    agent = world.start(fresh_mirror=True)
    message = held(app, "OtherHistory")
    assert "has a history without what was verified before: nothing of main is read; push main as it was" in message
    assert (app.live_tag(), agent.catalog.seen) == ("v1", False)
    assert any("without what was verified" in problem for problem in agent.readiness_problems())
    verified.user_signs(verified.ada)
    remote.commit("I vouch for all of it")
    world.push()
    world.wait_idle()
    assert held(app, "OtherHistory")
    remote.run("push", "--quiet", "--force", "origin", f"{before}:main")
    world.wake()
    app.wait_condition("SourceVerified", "Absent")
    assert (app.live_tag(), agent.catalog.seen) == ("v1", True)


def test_keys_that_change_while_it_runs(verified: Verified, tmp_path: Path) -> None:
    world = verified.world
    world.start()
    app = world.app().deploy("v1")
    bob = make_key(tmp_path, "bob")
    verified.user_signs(bob)
    app.push_image("v2")
    assert "is signed by a key that is not listed (SHA256:" in held(app, "UnknownKey")
    lines = verified.file.read_text()
    verified.file.write_text(lines + "nonsense\n")
    world.wake()
    app.wait(lambda: "allowed_signers:3" in app.condition("SourceVerified")["message"], "the broken line is named")
    verified.file.write_text(lines + bob.line("bob"))
    world.wake()
    app.merge_promotion("v2")
    app.wait_live("v2")
    verified.file.write_text("")
    world.wake()
    app.wait(lambda: app.condition("SourceVerified")["reason"] == "KeysUnreadable", "the empty file is said")
    assert app.condition("SourceVerified")["status"] == "True"


def test_a_release_group_says_it_too(verified: Verified) -> None:
    store = Store(verified.world)
    store.begin()

    assert store.condition("SourceVerified")["status"] == "Absent"
    verified.user_signs(None)
    store.activate("v2")
    eventually(lambda: store.condition("SourceVerified")["reason"] == "NotSigned", what="it is told why nothing moves")
    assert store.stages() == "v1A v2C"

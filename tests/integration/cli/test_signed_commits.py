"""Only signed commits, as docs/how-to/signed-commits.md has it: what is said of an unsigned one, and how it goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_bg.repo.settings import VerificationSettings
from tests.documentation.commands.shown import demand_as_shown
from tests.support.cluster.clusters import SandboxCluster
from tests.support.command_line import Cli
from tests.support.git.remote import GitRemote
from tests.support.scenario import scenario
from tests.support.signers import make_key, signing

PAGE = "docs/how-to/signed-commits.md"


def vouch(remote: GitRemote, last: str) -> None:
    """As the page has it."""
    remote.run("checkout", "-B", "main", last)
    remote.run("merge", "--no-ff", "-S", "-m", "Vouch for it", "origin/main")
    remote.run("push", "origin", "main")


def sign_again(remote: GitRemote, last: str) -> None:
    """As the page has it."""
    remote.run("rebase", "--exec", "git commit --amend --no-edit -S", last)
    remote.run("push", "--force-with-lease", "origin", "main")


@pytest.mark.parametrize("goes_on", [vouch, sign_again])
def test_an_unsigned_commit_is_said_and_the_recipes_work(
    sandbox_cluster: SandboxCluster, tmp_path: Path, goes_on: Callable[[GitRemote, str], None]
) -> None:
    ada, agent = make_key(tmp_path, "ada"), make_key(tmp_path, "agent")
    file = tmp_path / "allowed_signers"
    file.write_text(ada.line("ada") + agent.line("gitops-bg"))
    git = {"verification": VerificationSettings(signers_file=file), "signing_key": agent.private}
    with scenario(sandbox_cluster, tmp_path, git=git) as world:
        cli = Cli(world.remote, world.cluster.kubeconfig, tmp_path)
        cli.env["COLUMNS"] = "400"
        signing(world.remote, ada)
        world.start()
        web = world.app().deploy("v1")
        world.wait_idle()
        last = str(world.remote.head())
        signing(world.remote, None)
        commit = web.push_image("v2")
        web.wait_condition("SourceVerified", "False")
        printed = cli("explain", str(web.key))
        assert f"commit {commit[:10]} by Ada Pusher is not signed: main is read up to {last[:10]}" in printed
        demand_as_shown(PAGE, "gitops-bg explain shop/web", printed, shop_web=web.key)
        (condition,) = (each for each in cli.json("explain", str(web.key))["conditions"] if "SourceV" in each["type"])
        assert (condition["status"], condition["reason"]) == (False, "NotSigned")
        signing(world.remote, ada)
        goes_on(world.remote, last)
        world.wake()
        web.merge_promotion("v2")
        web.wait_live("v2")
        assert "SourceVerified" not in cli("explain", str(web.key))

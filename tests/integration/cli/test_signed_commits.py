"""Only signed commits, as docs/how-to/signed-commits.md has it: what is said of an unsigned one, and how it goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gitops_bg.repo.settings import VerificationSettings
from tests.documentation.commands.shown import demand_as_shown
from tests.documentation.commands.world import ROOT
from tests.support.cluster.clusters import SandboxCluster
from tests.support.command_line import Cli
from tests.support.git.remote import GitRemote
from tests.support.scenario import Scenario, scenario
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


def test_an_unsigned_commit_is_said_and_the_recipes_work(sandbox_cluster: SandboxCluster, tmp_path: Path) -> None:
    ada, agent = make_key(tmp_path, "ada"), make_key(tmp_path, "agent")
    file = tmp_path / "allowed_signers"
    file.write_text(ada.line("ada") + agent.line("gitops-bg"))
    git = {"verification": VerificationSettings(signers_file=file), "signing_key": agent.private}
    with scenario(sandbox_cluster, tmp_path, git=git) as world:
        cli = Cli(world.remote, world.cluster.kubeconfig, tmp_path)
        cli.env["COLUMNS"] = "400"
        signing(world.remote, ada)
        world.start()
        web = world.app().deploy("1.0.0")
        for tag, goes_on in (("1.1.0", vouch), ("1.2.0", sign_again)):
            world.wait_idle()
            world.pull()
            last = str(world.remote.head())
            signing(world.remote, None)
            commit = web.push_image(tag)
            web.wait_condition("SourceVerified", "False")
            printed = cli("explain", str(web.key))
            assert f"commit {commit[:10]} by Ada Pusher is not signed: main is read up to {last[:10]}" in printed
            if tag == "1.1.0":
                demand_as_shown(PAGE, "gitops-bg explain shop/web", printed, shop_web=web.key)
            conditions = cli.json("explain", str(web.key))["conditions"]
            (condition,) = (each for each in conditions if "SourceV" in each["type"])
            assert (condition["status"], condition["reason"]) == (False, "NotSigned")
            signing(world.remote, ada)
            goes_on(world.remote, last)
            world.wake()
            web.wait_offered(tag)
            cli("promote", str(web.key), "--signing-key", str(ada.private))
            world.wake()
            web.wait_live(tag)
            web.wait_told("promoted", 1 + (tag == "1.2.0"))
            assert "SourceVerified" not in cli("explain", str(web.key))


def once(world: Scenario, folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`gitops-bg agent --once`, a process of its own, of these sources."""
    where = ["--repo", world.remote.url, "--kubeconfig", str(world.cluster.kubeconfig), "--cluster", "test"]
    mine = ["--namespace", world.namespace, "--state-dir", str(folder / "state"), "--once", "--http", "off", *options]
    program = "import sys; from gitops_bg.cli.main import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, "agent", *where, *mine],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_an_agent_with_these_options(world: Scenario, tmp_path: Path) -> None:
    """Each option by its variable, as in a cluster; what is wrong is said before anything is read."""
    ada, agent = make_key(tmp_path, "ada"), make_key(tmp_path, "agent")
    file = tmp_path / "allowed_signers"
    file.write_text(ada.line("ada") + agent.line("gitops-bg"))
    keys = {"GITOPS_BG_SIGNING_KEY": str(agent.private), "GITOPS_BG_VERIFY_SIGNERS": str(file)}
    signing(world.remote, ada)
    web = world.app()
    web.add("v1")
    done = once(world, tmp_path, **keys)
    assert done.returncode == 0, done.stderr
    web.wait_live("v1")
    assert web.condition("SourceVerified")["status"] == "Absent"

    signing(world.remote, None)
    commit = web.push_image("v2")
    done = once(world, tmp_path, **keys)
    assert (done.returncode, f"not brought to main's head: commit {commit[:10]}" in done.stderr) == (1, True)
    assert web.live_tag() == "v1"

    done = once(world, tmp_path, "--verify-signers", str(file))
    assert (done.returncode, "--signing-key: give an SSH key" in done.stderr) == (2, True)
    file.write_text("nonsense\n")
    done = once(world, tmp_path, **keys)
    assert done.returncode != 0
    assert f"--verify-signers {file}:1: is no line of a signer (write NAME ssh-ed25519 KEY" in done.stderr

"""Two clusters that follow one folder, and share its promotion branch."""

from datetime import UTC, datetime
from pathlib import Path

from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.repo.settings import RepositorySettings
from tests.support.cluster.clusters import SandboxCluster
from tests.support.scenario import scenario


def test_a_version_that_one_cluster_refuses_stays_offered_by_the_other(
    sandbox_cluster: SandboxCluster, own_sandbox: SandboxCluster, tmp_path: Path
) -> None:
    with scenario(sandbox_cluster, tmp_path / "a") as one:
        own_sandbox.create("/api/v1/namespaces", {"metadata": {"name": one.namespace}})
        other = RepositorySettings(url=one.remote.url, directory=tmp_path / "b" / "mirror", cluster="other")
        with scenario(own_sandbox, tmp_path / "b", namespace=one.namespace, remote=one.remote, repository=other) as two:
            one.start()
            two.start()
            here, there = one.app(), two.app()

            def look() -> None:
                """Both look at the remote and do what they want of it."""
                for world in (one, two):
                    world.wake()
                    world.settle()

            here.add("v1")
            here.wait_live("v1")
            two.wake()
            there.wait_live("v1")
            here.wait_primary("v1")
            here.push_image("v2")
            here.wait_preview("v2")
            here.wait_offered("v2")
            two.wake()
            there.wait_preview("v2")
            here.ask(Request("1", OperatorCommand.ABORT, "ada", datetime.now(UTC), "no"))
            here.wait(lambda: here.record.held(here.digest("v2")) is not None, "on hold in one cluster")
            look()
            there.wait_offered("v2")
            look()

            head = one.remote.head(here.promotion_branch)
            assert "[other]" in one.remote.log(here.promotion_branch)[0].subject
            for _ in range(5):
                look()
                assert one.remote.head(here.promotion_branch) == head

            here.push_image("v3")
            here.wait_preview("v3")
            two.wake()
            there.wait_preview("v3")
            here.wait_offered("v3")

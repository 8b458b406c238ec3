"""Argo Rollouts, bluegreen_test.go: metadata that pods carry by the role of their version."""

from gitops_bg.core import names
from tests.support.cluster.paths import pods, replica_sets
from tests.support.scenario import App, Scenario


def _carried(app: App, tag: str, *keys: str) -> list[dict[str, str]]:
    """Of each pod of a tag: its labels and annotations of these keys."""
    digest = app.versions()[tag].digest
    found = app.scenario.cluster.list(pods(app.key.namespace), labelSelector=f"{names.DIGEST}={digest}")
    both = [{**pod["metadata"]["labels"], **(pod["metadata"].get("annotations") or {})} for pod in found]
    return [{key: one[key] for key in keys if key in one} for one in both]


def _wait_carried(app: App, tag: str, expected: dict[str, str]) -> None:
    keys = ("role", "tier", "since")
    app.wait(lambda: _carried(app, tag, *keys) == [expected] * 2, f"{tag}: {expected}")


def _uids(app: App) -> set[str]:
    return {pod["metadata"]["uid"] for pod in app.scenario.cluster.list(pods(app.key.namespace))}


def test_argo_01_ephemeral_metadata_of_active_and_preview_pods_changes_in_place(world: Scenario) -> None:
    """Initial pods are active; an update has preview pods beside them, and an edit replaces the old key on live pods;
    after the promotion the roles are swapped, an edit of activeMetadata propagates, and no pod was ever restarted.

    Beyond Argo: keys that are removed go, the version that was left is stripped, a rollback dresses it again, and none
    of it is drift: at the end nothing is written any more.
    """
    world.start()
    web = world.app()
    web.strategy |= {
        "activeMetadata": {"labels": {"role": "active"}},
        "previewMetadata": {"labels": {"role": "preview"}},
    }
    web.deploy("v1")
    _wait_carried(web, "v1", {"role": "active"})

    web.push_image("v2")
    web.wait_offered("v2")
    _wait_carried(web, "v2", {"role": "preview"})
    _wait_carried(web, "v1", {"role": "active"})
    born = _uids(web)
    assert len(born) == 4

    web.strategy["previewMetadata"] = {"labels": {"tier": "canary"}}
    web.configure()
    _wait_carried(web, "v2", {"tier": "canary"})

    merge = web.merge_promotion("v2")
    web.wait_live("v2")
    _wait_carried(web, "v2", {"role": "active"})
    _wait_carried(web, "v1", {})

    web.strategy["activeMetadata"] = {"annotations": {"since": "today"}}
    web.configure()
    _wait_carried(web, "v2", {"since": "today"})
    web.wait_told()

    web.revert(merge)
    web.wait_live("v1")
    _wait_carried(web, "v1", {"since": "today"})
    _wait_carried(web, "v2", {})
    assert _uids(web) == born
    web.wait_told()
    world.settle()
    writes = len(world.writes())
    world.advance(1)
    world.wait_idle()
    assert len(world.writes()) == writes
    for replica_set in world.cluster.list(replica_sets(world.namespace)):
        assert set(replica_set["spec"]["selector"]["matchLabels"]) == {names.APP, names.DIGEST}

"""Copies of ConfigMaps and Secrets on both clusters: created, observed, restored, deleted; foreign objects stay."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.cluster.api.errors import ForeignObject, NotFound
from gitops_bg.core import names
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import ApplyApp, ApplyConfiguration, DeleteConfiguration, DeleteReplicaSet
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.observed import ConfigurationView
from gitops_bg.core.model.version import Snapshot
from gitops_bg.core.names import configuration_name, replica_set_name
from gitops_bg.spec.manifests.configuration import configuration_of
from tests.integration.cluster.scene import PASSWORDS, SETTINGS, Scene, create
from tests.support.cluster.paths import config_maps
from tests.support.cluster.rawapi import ApiError, Json


@pytest.fixture
def there(scene: Scene) -> Scene:
    """The app exists."""
    scene.do(ApplyApp())
    return scene


def path(scene: Scene, name: str, plural: str = "configmaps") -> str:
    return f"/api/v1/namespaces/{scene.app.namespace}/{plural}/{name}"


def seen(scene: Scene) -> ConfigurationView:
    (view,) = scene.observe().configurations
    return view


def test_a_copy_holds_what_git_has_and_cannot_be_changed(there: Scene) -> None:
    settings, passwords = there.copied(SETTINGS, PASSWORDS)
    config_map, secret = there.cluster.get(path(there, settings)), there.cluster.get(path(there, passwords, "secrets"))
    assert (config_map["data"], config_map["binaryData"]) == ({"color": "blue"}, {"icon": "AP8="})
    assert (secret["data"], secret["type"]) == ({"db": "aHVudGVyMg=="}, "shop/db")
    for copy, of in ((config_map, SETTINGS), (secret, PASSWORDS)):
        assert copy["immutable"] is True
        assert copy["metadata"]["labels"][names.APP] == "web"
        assert copy["metadata"]["annotations"][names.CONTENT_DIGEST] == of.ref.digest
        owner, second = copy["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["controller"], second["kind"]) == (names.KIND, True, "Namespace")
    with pytest.raises(ApiError, match="422 Invalid"):
        there.cluster.patch(path(there, settings), {"data": {"color": "red"}})


def test_it_is_seen_by_what_it_holds_never_with_that(there: Scene) -> None:
    settings, passwords = there.copied(SETTINGS, PASSWORDS)
    views = (
        ConfigurationView("ConfigMap", settings, SETTINGS.ref.digest),
        ConfigurationView("Secret", passwords, PASSWORDS.ref.digest),
    )
    assert there.observe().configurations == views, "at once, by our own write"
    assert there.until(lambda found: len(found.configurations) == 2).configurations == views
    assert "hunter2" not in repr(there.observe())


def test_making_it_again_changes_nothing(there: Scene) -> None:
    (name,) = there.copied(SETTINGS)
    before = there.cluster.get(path(there, name))["metadata"]
    there.copied(SETTINGS)
    after = there.cluster.get(path(there, name))["metadata"]
    assert (before["uid"], before["resourceVersion"]) == (after["uid"], after["resourceVersion"])


def test_one_that_was_deleted_is_missed(there: Scene) -> None:
    (name,) = there.copied(SETTINGS)
    there.cluster.delete(path(there, name))
    there.until(lambda found: not found.configurations)


def without_our_labels(copy: Json) -> None:
    copy["metadata"]["labels"] = {}


def without_owner(copy: Json) -> None:
    copy["metadata"]["ownerReferences"] = []


def changeable(copy: Json) -> None:
    copy["immutable"] = False


def holding_something_else(copy: Json) -> None:
    copy["data"] = {"color": "red"}


REPLACED: dict[str, Any] = {
    "without its owner": without_owner,
    "so that it may be changed": changeable,
    "with other content": holding_something_else,
}


@pytest.mark.parametrize("how", REPLACED)
def test_one_that_was_replaced_is_seen_and_made_again(there: Scene, how: str) -> None:
    """Deleted, and made anew by somebody else, in a way that Kubernetes does not forbid."""
    (name,) = there.copied(SETTINGS)
    live = there.cluster.get(path(there, name))
    for field in ("uid", "resourceVersion", "managedFields", "creationTimestamp"):
        live["metadata"].pop(field, None)
    REPLACED[how](live)
    there.cluster.delete(path(there, name))
    there.cluster.create(config_maps(there.app.namespace), live)
    there.until(lambda found: any(view.drifted or view.digest != SETTINGS.ref.digest for view in found.configurations))
    there.copied(SETTINGS)
    there.until(lambda found: found.configurations == (ConfigurationView("ConfigMap", name, SETTINGS.ref.digest),))
    assert there.cluster.get(path(there, name))["data"] == {"color": "blue"}


def test_a_foreign_object_of_its_name_is_left_alone(there: Scene) -> None:
    name = configuration_name(there.app, SETTINGS.ref)
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"theirs": "yes"}}
    there.cluster.create(config_maps(there.app.namespace), theirs)
    with pytest.raises(ForeignObject, match=f"ConfigMap {there.app.namespace}/{name} is made by somebody else"):
        there.copied(SETTINGS)
    assert there.cluster.get(path(there, name))["data"] == {"theirs": "yes"}


def test_what_git_no_longer_has_is_not_made(there: Scene) -> None:
    with pytest.raises(WorldChanged, match="Git no longer has"):
        there.do(ApplyConfiguration(SETTINGS.ref, "x", 1))


def test_a_replica_set_says_what_it_uses_and_its_pods_read_the_copies(there: Scene) -> None:
    there.copied(SETTINGS)
    uses = reading_settings()
    there.do(create(uses))
    found = there.live("replicasets", replica_set_name(there.app, 1, uses.digest))
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"] == [{"configMapRef": {"name": configuration_name(there.app, SETTINGS.ref)}}]
    (view,) = there.until(lambda now: now.replica_sets).replica_sets
    assert (view.snapshot, view.drifted) == (uses, False)


def reading_settings() -> Snapshot:
    """A pod template that reads the settings."""
    container = {"name": "web", "image": "registry.example/web:v1", "envFrom": [{"configMapRef": {"name": "settings"}}]}
    return snapshot_of({"metadata": {"labels": {"team": "shop"}}, "spec": {"containers": [container]}}, [SETTINGS.ref])


OTHER = configuration_of("ConfigMap", "settings", {"data": {"color": "red"}})


def test_a_replica_set_that_was_told_to_use_something_else_has_drifted(there: Scene) -> None:
    there.copied(SETTINGS)
    uses = reading_settings()
    there.do(create(uses))
    name = replica_set_name(there.app, 1, uses.digest)
    replica_sets = f"/apis/apps/v1/namespaces/{there.app.namespace}/replicasets/{name}"
    forged = f'[["ConfigMap","settings","{OTHER.ref.digest}"]]'
    for annotation in (forged, None):
        there.cluster.patch(replica_sets, {"metadata": {"annotations": {names.CONFIGURATION: annotation}}})
        there.until(lambda now: [view.drifted for view in now.replica_sets] == [True])
        there.do(create(uses, repair=True))
        there.until(lambda now: [view.drifted for view in now.replica_sets] == [False])


def test_one_that_a_replica_set_uses_is_never_deleted(there: Scene) -> None:
    (name,) = there.copied(SETTINGS)
    uses = reading_settings()
    there.do(create(uses))
    there.until(lambda now: now.replica_sets)
    with pytest.raises(WorldChanged, match=f"a ReplicaSet uses ConfigMap {name}"):
        there.do(DeleteConfiguration("ConfigMap", name))
    there.do(DeleteReplicaSet(replica_set_name(there.app, 1, uses.digest), uses.digest, "told to"))
    there.until(lambda now: not now.replica_sets)
    there.do(DeleteConfiguration("ConfigMap", name), DeleteConfiguration("ConfigMap", name))
    there.until(lambda now: not now.configurations)
    assert there.cluster.find(path(there, name)) is None


def test_what_a_live_copy_holds_can_be_read_back(there: Scene) -> None:
    (name, _) = there.copied(SETTINGS, PASSWORDS)
    for each in (SETTINGS, PASSWORDS):
        assert there.subject.executor.copies.held(there.app, each.ref).content == each.content
    with pytest.raises(NotFound, match="no copy of ConfigMap settings"):
        there.subject.executor.copies.held(there.app, OTHER.ref)
    there.cluster.delete(path(there, name))
    with pytest.raises(NotFound):
        there.subject.executor.copies.held(there.app, SETTINGS.ref)


def test_a_configmap_of_ours_that_is_no_copy_is_none_of_the_copies(there: Scene) -> None:
    labels = {names.MANAGED_BY: names.MANAGER, names.APP: "web"}
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain", "labels": labels}}
    there.cluster.create(config_maps(there.app.namespace), mine)
    there.copied(SETTINGS)
    there.until(lambda found: [view.name for view in found.configurations] != ["plain"])
    assert seen(there).name != "plain"

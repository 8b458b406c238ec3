"""What a refused action holds up: what depends on it, and nothing else."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyConfiguration,
    ApplyService,
    ClusterAction,
    CreateReplicaSet,
    DeleteApp,
    DeleteConfiguration,
    DeleteReplicaSet,
    EvictPod,
    HandBack,
    MarkService,
    PointPreview,
    RepairSelector,
    ScaleDeployment,
    ScaleReplicaSet,
    ServiceRole,
    SwitchTraffic,
    SyncPodMetadata,
)
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import NO_METADATA, Color, ConfigurationRef, Snapshot
from gitops_bg.core.plan.chains import waits_for
from tests.core.worlds import digest

REF = ConfigurationRef("ConfigMap", "settings", "c1:0123456789abcdef")


def create(number: int, *refs: ConfigurationRef) -> CreateReplicaSet:
    return CreateReplicaSet(number, Snapshot(digest(number), "{}", configuration=refs), Color.GREEN, 0)


def scale(number: int, current: int, replicas: int) -> ScaleReplicaSet:
    return ScaleReplicaSet(digest(number), number, current, replicas, "told to")


def switch(number: int, name: str = "web", kind: SwitchKind = SwitchKind.ROLLBACK) -> SwitchTraffic:
    return SwitchTraffic(name, (), 1, digest(1), number, digest(number), kind, needs_available=0)


ACTIVE, PREVIEW = (
    ApplyService(role, role, digest(2), "told to", create=True) for role in (ServiceRole.ACTIVE, ServiceRole.PREVIEW)
)
LED, DIFFERS = RepairSelector("web", (), digest(2), "told to"), replace(ACTIVE, create=False)
COPY, MARK = ApplyConfiguration(REF, "settings-0123", 3), MarkService("web", (), "x")
SYNC, EVICT = SyncPodMetadata(digest(2), 2, NO_METADATA), EvictPod("web-a", "a", digest(2), 2)
REMOVE, PRUNE = DeleteReplicaSet("web-1", digest(1), "old"), DeleteConfiguration("ConfigMap", "settings-0123")
RETURNED, ADOPTED = HandBack("web", (), ()), ScaleDeployment("web", 3, 0, "adopted")

WAITS: dict[str, tuple[ClusterAction, ClusterAction, bool]] = {
    "the size, for the ReplicaSet": (scale(3, 0, 3), create(3), True),
    "its Service, for a version's pods": (switch(2), scale(2, 0, 3), True),
    "the preview, for a version's pods": (PointPreview("web-preview", (), digest(2)), create(2), True),
    "a preview Service anew, likewise": (PREVIEW, create(2), True),
    "evictions, for the ReplicaSet that makes new pods": (EVICT, create(2), True),
    "another eviction of the version": (EvictPod("web-b", "b", digest(2), 2), EVICT, True),
    "metadata of pods, for that of the ReplicaSet": (SYNC, create(2), True),
    "pods, for the copies that they use": (create(3, REF), COPY, True),
    "likewise, where the ReplicaSet is there": (scale(3, 0, 3), COPY, True),
    "a second Service, for the first of a promotion": (
        switch(2, "grpc", SwitchKind.PROMOTION),
        switch(2, kind=SwitchKind.PROMOTION),
        True,
    ),
    "no second Service on its way back, for the first": (switch(2, "grpc"), switch(2), False),
    "no mark of one Service, for that of another": (MarkService("grpc", (), "x"), MARK, False),
    "a switch, for the mark of one withdrawn": (switch(2), MARK, True),
    "fewer pods, for the live Service": (scale(1, 3, 0), ACTIVE, True),
    "fewer pods, for a live Service that leads elsewhere": (scale(1, 3, 0), LED, True),
    "no pods at all, for a switch": (REMOVE, switch(2), True),
    "fewer pods, for the mark": (REMOVE, MARK, True),
    "a copy, for the live Service": (PRUNE, ACTIVE, True),
    "evictions, for the live Service": (EVICT, ACTIVE, True),
    "the Deployment of before, for the live Service": (ADOPTED, ACTIVE, True),
    "one Service that goes back, for another": (HandBack("grpc", (), ()), RETURNED, True),
    "the end, for all": (DeleteApp(), create(3), True),
    "no fewer pods, for what else Git says of a Service": (scale(1, 3, 0), DIFFERS, False),
    "no way back of a Service, for pods": (LED, scale(2, 0, 3), False),
    "no live Service, for another version's pods": (ACTIVE, scale(1, 0, 3), False),
    "no way back, for what serves": (scale(1, 0, 3), create(2), False),
    "no new version, for the way back": (create(3), scale(1, 0, 3), False),
    "no new version, for another's copy": (create(3), COPY, False),
    "no size of before, for a new version's copy": (scale(1, 0, 3), COPY, False),
    "no clean-up, for pods": (REMOVE, create(2), False),
    "no clean-up, for the preview": (REMOVE, PREVIEW, False),
    "no pods, for a Service": (scale(1, 0, 3), ACTIVE, False),
    "nothing, for the BlueGreenDeployment": (create(3), ApplyApp(), False),
    "nothing, for a copy that cannot go": (create(3, REF), PRUNE, False),
}


@pytest.mark.parametrize("name", WAITS)
def test_waits(name: str) -> None:
    action, failed, expected = WAITS[name]
    assert waits_for(action, failed) is expected

"""Apps on their way from a Deployment, back to it, or to another name; and Services of somebody else."""

import json
from dataclasses import replace
from typing import Any

from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.observed import DeploymentView, SelectedPods, ServiceView
from gitops_bg.core.model.record import Adopted
from gitops_bg.core.model.spec import Adoption, AppSpec, DeletionPolicy, Release, ScaleDown
from gitops_bg.core.model.version import PodMetadata, Version
from gitops_bg.core.world import World
from tests.core.simulation import manual
from tests.core.worlds import EARLIER, active, candidate, digest, legacy, pods, rising, service, world

STAND_IN, OTHER_STAND_IN = "not-live-yet", "not-live-yet-either"
"""What a label of a pod says until live traffic may come to it."""
APP_WEB = (("app", "web"),)
HELD = (("app", STAND_IN),)
HAND_OVER = "Service shop/web is made by somebody else; to hand it over: kubectl label service web"
GONE = {"in_git": False, "target": Missing.ABSENT, "primary": Missing.ABSENT, "whole": False}
"""The folder has left main."""


def adopting(scale_down: ScaleDown = ScaleDown.NEVER, **strategy: Any) -> AppSpec:
    return replace(manual(**strategy), adopt=Adoption("web-old", scale_down=scale_down))


def foreign(name: str = "web", **changes: Any) -> ServiceView:
    """A Service of somebody else, which selects the pods that the template describes."""
    theirs = {"selector": APP_WEB, "digest": "", "ours": False, "owner": HAND_OVER, "unclaimed": True}
    return replace(service(name, 0), **{**theirs, **changes})


def other(*selector: tuple[str, str], name: str = "leak") -> ServiceView:
    """A Service that the app does not name."""
    return ServiceView(name, "", tuple(selector), ours=False)


def before(
    *versions: Version,
    view: ServiceView | None = None,
    spec: AppSpec | None = None,
    sets: Any = (),
    observed: dict[str, Any] | None = None,
    **more: Any,
) -> World:
    """Nothing of ours serves yet; the Service is live, and three pods of somebody else are behind it."""
    seen = {"active_service": view or foreign(), "preview_service": None, **(observed or {})}
    return world(*versions, live=0, sets=sets, observed=seen, spec=spec or adopting(), **more)


def labelled(number: int, labels: Any) -> Version:
    """A version with these labels in its template."""
    body = {"metadata": {"labels": dict(labels)}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    return rising(number, snapshot=replace(rising(number).snapshot, text=json.dumps(body)))


def up(number: int = 1, labels: tuple[tuple[str, str], ...] = HELD, replicas: int = 3, **changes: Any) -> Any:
    """The ReplicaSet of a version, whose new pods get these labels."""
    return pods(number, replicas, color=active(number).color, metadata=PodMetadata(labels), **changes)


# --- the way back ---

RELEASED = replace(manual(), adopt=Adoption("old", scale_down=ScaleDown.PROGRESSIVELY), release=Release("old"))
"""An adopted app whose file asks for its release."""
TWO = replace(RELEASED, strategy=replace(RELEASED.strategy, more_active_services=("web-grpc",)))
DEPLOYMENT = DeploymentView("old", 3, APP_WEB, available=3)
OURS = service("web", 2, before=APP_WEB, selected=SelectedPods())
THEIRS = replace(service("web", 0), ours=False, owner="somebody's", unclaimed=True)
"""It was handed back."""


def releasing(
    view: ServiceView | None = OURS,
    deployment: DeploymentView | None = DEPLOYMENT,
    labels: tuple[tuple[str, str], ...] = HELD,
    available: int = 3,
    **more: Any,
) -> World:
    """Version 2 serves, 1 is warm, 3 waits for its promotion; all of them have pods."""
    three = (legacy(1), active(2, activated_at=EARLIER, routed_at=EARLIER), candidate(3))
    versions = more.pop("versions", three)
    sets = more.pop("sets", tuple(up(each.number, labels, available=available) for each in versions))
    seen = {"active_service": view, "preview_service": service("web-preview", 3), "deployment": deployment}
    remembered = {"adopted": Adopted("old", 3, left=True), "preview": digest(3)}
    return world(
        *versions,
        spec=more.pop("spec", RELEASED),
        sets=sets,
        observed={**seen, **more.pop("observed", {})},
        record={**remembered, **more.pop("record", {})},
        **more,
    )


# --- without a folder ---


def with_policy(policy: DeletionPolicy, spec: AppSpec = RELEASED, **changes: Any) -> AppSpec:
    """What becomes of the app when its folder leaves main."""
    return replace(spec, release=None, deletion_policy=policy, **changes)


REVERTS = with_policy(DeletionPolicy.REVERT_TO_TARGET)


def leaving(
    view: ServiceView | None = OURS, *given: Any, spec: AppSpec = REVERTS, desired: Any = None, **more: Any
) -> World:
    """An adopted app with three versions, whose folder is gone from main."""
    return releasing(view, *given, spec=spec, desired=GONE if desired is None else desired, **more)

"""Which Services that are not the app's own send requests to pods of versions that nobody promoted, or would as soon as
there are any.

A Service selects pods by labels, whoever made them. The agent moves only the Services that the app names; any other one
whose selector matches the pod template has the pods of every version, each as soon as it is ready. The agent cannot
know what it is for (a headless Service of a monitor should have them all), so it takes no pods away, and says so
(docs/decisions/0023). Only until a live app is handed over, pods of ours keep out of all of them (`taking_over`).
"""

from dataclasses import dataclass

from gitops_bg.core.checks.adoption.onboarding import labels_as_live, labels_of_pods
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.questions import answered_once
from gitops_bg.core.world import World


@dataclass(frozen=True, slots=True)
class Exposure:
    """A Service of somebody else, and the versions whose pods it should not have yet."""

    service: ServiceView
    versions: tuple[Version, ...]
    """Those with pods now."""
    at_rest: tuple[Version, ...] = ()
    """Those that wait without any, and whose pods it would have as soon as they come up."""


def may_be_exposed(record: Record) -> bool:
    """Whether an app has a version that nobody promoted: only then somebody has to look at other Services."""
    return any(version.stage is Stage.CANDIDATE and not version.was_active for version in record.versions)


@answered_once
def exposures(world: World) -> tuple[Exposure, ...]:
    """Every other Service that selects pods of versions that nobody promoted, or would, as far as they are known."""
    others = world.observed.other_services or ()
    unpromoted = [version for version in world.record.versions if _is_unpromoted(world, version)] if others else []
    found = (_exposure(world, view, [each for each in unpromoted if _selects(world, view, each)]) for view in others)
    return tuple(each for each in found if each.versions or each.at_rest)


def _is_unpromoted(world: World, version: Version) -> bool:
    """Whether a version never served, and `primary.yaml` does not name it."""
    return not version.was_active and version.digest != world.desired_digest


def _exposure(world: World, view: ServiceView, selected: list[Version]) -> Exposure:
    up = tuple(version for version in selected if _has_pods(world, version))
    waiting = (each for each in selected if each not in up and each.stage is Stage.CANDIDATE and not each.retiring)
    return Exposure(view, up, tuple(waiting))


def _has_pods(world: World, version: Version) -> bool:
    view = world.replica_set(version.digest)
    return view is not None and bool(view.pods or view.replicas)


def _selects(world: World, view: ServiceView, version: Version) -> bool:
    """Whether a Service selects the pods of a version, as it would if they were live.

    One that selects by a label of ``previewMetadata`` asks for what is not live.
    """
    selector, live = set(view.selector), labels_as_live(world, version)
    carried = (labels for labels in labels_of_pods(world, version) if labels is not None)
    return live is not None and selector <= live.items() and any(selector <= labels.items() for labels in carried)

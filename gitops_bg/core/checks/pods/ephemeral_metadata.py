"""What pods carry by the role of their version: `activeMetadata`, `previewMetadata` (argo-rollouts.md §1.1)."""

from dataclasses import replace

from gitops_bg.core.checks.adoption.taking_over import placeholder_labels
from gitops_bg.core.model.version import NO_METADATA, PodMetadata, Stage, Version
from gitops_bg.core.world import World


def metadata_for(world: World, version: Version) -> PodMetadata:
    """The metadata that the pods of a version should carry now, with the stand-ins that keep them out of a Service that
    is still to be taken over.
    """
    role, held = _of_its_role(world, version), placeholder_labels(world, version)
    return replace(role, labels=tuple(sorted({**dict(role.labels), **dict(held)}.items()))) if held else role


def _of_its_role(world: World, version: Version) -> PodMetadata:
    """The metadata of a version's role; none once it is neither live nor on its way there.

    The first version gets the metadata of the active version at once, as in Argo Rollouts.
    """
    strategy, is_first = world.spec.strategy, not world.record.routing.traffic
    if version.digest == world.record.routing.traffic:
        return strategy.active_metadata
    if version.stage is not Stage.CANDIDATE or version.retiring:
        return NO_METADATA
    return strategy.active_metadata if is_first else strategy.preview_metadata

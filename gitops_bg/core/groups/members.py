"""What a group's stages mean for its members: the apps of its services. The group decides, their own engine acts."""

from enum import StrEnum

from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupRecord


class Standing(StrEnum):
    """Whether a member runs."""

    WAITING = "Waiting"
    """Its version is not registered: nothing of it begins, and what runs stays."""
    RUNNING = "Running"
    DORMANT = "Dormant"
    """Its version is archived: it keeps no pods."""
    GONE = "Gone"
    """Its version was deleted: so is all that it has."""


def standing_of(record: GroupRecord, service: str, version: str) -> Standing:
    """Return whether the service of a version runs, by the version that it serves in now."""
    deleted = {each.name for each in record.deleted}
    if version in record.leaving:
        return Standing.RUNNING
    for part in record.state.endpoints:
        if (part.service, part.initial_version) == (service, version):
            is_archived = record.state.stage(part.version) is VersionStage.ARCHIVED
            leaves = part.version in record.leaving
            return Standing.DORMANT if is_archived and not leaves else Standing.RUNNING
    return Standing.GONE if version in deleted else Standing.WAITING

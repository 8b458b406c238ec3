"""What a group's stages mean for its members: the apps of its services. The group decides, their own engine acts."""

from enum import StrEnum

from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupRecord


class MemberState(StrEnum):
    """Whether a member runs."""

    PENDING = "Pending"
    """Its version is not registered: nothing of it begins, and what runs stays."""
    RUNNING = "Running"
    SCALED_DOWN = "ScaledDown"
    """Its version is archived: it keeps no pods."""
    DELETED = "Deleted"
    """Its version was deleted: so is all that it has."""


def member_state(record: GroupRecord, service: str, version: str) -> MemberState:
    """Return whether the service of a version runs, by the version that it serves in now."""
    deleted = {each.name for each in record.deleted}
    if version in record.leaving:
        return MemberState.RUNNING
    for part in record.state.endpoints:
        if (part.service, part.initial_version) == (service, version):
            is_archived = record.state.stage(part.version) is VersionStage.ARCHIVED
            leaves = part.version in record.leaving
            return MemberState.SCALED_DOWN if is_archived and not leaves else MemberState.RUNNING
    return MemberState.DELETED if version in deleted else MemberState.PENDING

"""What a group's stages mean for its members: the apps of its services. The group decides, their own engine acts."""

from enum import StrEnum

from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupRecord


class MemberState(StrEnum):
    """Whether a member runs."""

    PENDING = "Pending"
    """Its version is not registered: nothing of it begins, and what runs stays."""
    CANDIDATE = "Candidate"
    """Its version is a candidate: it runs, and only requests that name the version reach it."""
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
            stage = record.state.stage(part.version)
            if stage is VersionStage.ARCHIVED and part.version not in record.leaving:
                return MemberState.SCALED_DOWN
            return MemberState.CANDIDATE if stage is VersionStage.CANDIDATE else MemberState.RUNNING
    return MemberState.DELETED if version in deleted else MemberState.PENDING

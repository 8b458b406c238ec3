"""Whether what somebody asks of a group fits the stages of its versions, before it is committed. Pure.

The group rejects the same once main says it (`core.groups.transition`); by then the commit is there.
"""

from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.model import PromotionRejected, Rejection, VersionStage, version_number
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.version import GroupKey


def demand_promotable(key: GroupKey, desired: DesiredGroup, record: GroupRecord, version: str) -> None:
    """Check that a version is a candidate, or will be one once the agent has looked at its folder.

    Raises `PromotionRejected` with what would be right.
    """
    state, stage = record.state, record.state.stage(version)
    active = state.only(VersionStage.ACTIVE)
    if stage is VersionStage.ACTIVE:
        back = f"; to take back what main asks for: gitops-bg rollback {key} --to {version}"
        asks = desired.spec is not None and desired.spec.active != version
        raise PromotionRejected(Rejection.NOT_A_CANDIDATE, f"{version} is active already{back if asks else ''}")
    if stage is VersionStage.LEGACY:
        message = f"{version} is legacy: to go back to it, gitops-bg rollback {key} --to {version}"
        raise PromotionRejected(Rejection.NOT_A_CANDIDATE, message)
    if stage is VersionStage.ARCHIVED:
        raise PromotionRejected(Rejection.NOT_A_CANDIDATE, f"{version} is archived: {_anew(key, desired, version)}")
    if stage is None and active:
        _demand_new(key, desired, record, version, active)


def _demand_new(key: GroupKey, desired: DesiredGroup, record: GroupRecord, version: str, active: str) -> None:
    """Check that the folder of a version that the group does not have will make it a candidate."""
    folder = desired.versions.get(version)
    content = folder.content if folder is not None else ""
    if any((each.name, each.content) == (version, content) for each in record.deleted):
        message = f"{version} was deleted when another version became active: change a file in its folder first"
        raise PromotionRejected(Rejection.NO_SUCH_VERSION, message)
    if version_number(version) < version_number(active):
        message = f"{version} is older than {active}, which is active: {_anew(key, desired, version)}"
        raise PromotionRejected(Rejection.PASSED, message)


def demand_way_back(key: GroupKey, desired: DesiredGroup, record: GroupRecord, version: str) -> None:
    """Check that a rollback leads to a version: to the one before, or, where another one is asked for or on its way, to
    the one that serves. Raises `PromotionRejected` with what would be right.
    """
    named = desired.spec.active if desired.spec is not None else ""
    stage, back = record.state.stage(version), record.back_from(named)
    is_so_already = version == named and stage is VersionStage.ACTIVE
    if not record.state.versions or is_so_already or version == back or stage is VersionStage.LEGACY:
        return
    right = f"a rollback leads to {back} now: gitops-bg rollback {key} --to {back}"
    if not back:
        right = "there is no version to go back to, as two rollbacks in a row do not exist"
    if stage is VersionStage.CANDIDATE:
        right += f"; to have {version}: gitops-bg promote {key} --to {version}"
    elif stage is not VersionStage.ACTIVE:
        right += f"; {_anew(key, desired, version)}"
    what = f"is {stage.lower()}" if stage is not None else "is no version of the group any more"
    raise PromotionRejected(Rejection.NO_LEGACY, f"{version} {what}: {right}")


def _anew(key: GroupKey, desired: DesiredGroup, version: str) -> str:
    free = f"v{max(map(version_number, desired.versions), default=0) + 1}"
    return f"to have it again, gitops-bg group new {key} {free} --from {version}"

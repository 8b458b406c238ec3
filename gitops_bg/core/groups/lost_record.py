"""What is known of a group whose record is lost: somebody deleted its ReleaseGroup, or it has never had one.

Traffic says what served: each Service of a service's own name follows a member, and has its name as a label.
"""

from collections.abc import Iterator

from gitops_bg.core.groups.model import version_number
from gitops_bg.core.groups.world import GroupWorld, member_name


def is_lost(world: GroupWorld) -> bool:
    """Whether nothing is remembered of the group."""
    return not world.record.state.versions


def newest_followed(world: GroupWorld) -> int:
    """The number of the newest version that a Service follows; 0 where none follows any.

    What group.yaml names may be on its way through the gates.
    """
    followed = (member.removeprefix(f"{service}-") for service, member in _followed(world))
    return max((version_number(version) for version in followed), default=0)


def never_promoted(world: GroupWorld) -> frozenset[str]:
    """The versions that traffic has not moved to: a Service of what they bring follows an older version.

    They were left out, or rolled back, or traffic is only on its way there: then it goes back, and begins again.
    """
    followed = {service: version_number(member.removeprefix(f"{service}-")) for service, member in _followed(world)}
    return frozenset(
        name
        for name, version in world.desired.versions.items()
        for service, one in version.services.items()
        if one.pods and 0 < followed.get(service, 0) < version_number(name)
    )


def why_unknown(world: GroupWorld) -> str:
    """Why the record cannot be made again from main; empty where it can.

    A service may serve on without a folder. Only the lost record knew that, and its routes: a new one would take its
    Service and its pods away.
    """
    if not is_lost(world):
        return ""
    there = {
        member_name(service, name)
        for name, version in world.desired.versions.items()
        for service, one in version.services.items()
        if one.pods
    }
    for service, member in _followed(world):
        if member not in there and service not in world.spec.removed_services:
            folder = f"{member.removeprefix(f'{service}-')}/{service}"
            return (
                f"the record is lost, and the Service {service} follows {member}, whose folder main does not have: "
                f"put {folder}/ back, or name {service} under removedServices; until then nothing is changed"
            )
    return ""


def _followed(world: GroupWorld) -> Iterator[tuple[str, str]]:
    """Each own Service that follows a member, or did last, with that member."""
    for service, each in sorted(world.observed.services.items()):
        if each.followed and not each.foreign:
            yield service, each.followed

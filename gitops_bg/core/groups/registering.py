"""Registers what the folders of a group say: new versions, their services, and what left. World in, world out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gitops_bg.core.groups.inputs import DesiredService, DesiredVersion
from gitops_bg.core.groups.model import (
    Endpoint,
    GroupState,
    Part,
    PromotionRejected,
    Rejection,
    TransitionStep,
    VersionStage,
    add_service,
    delete,
    promote,
    remove_service,
    version_number,
)
from gitops_bg.core.groups.record import DeletedVersion, Transition, TransitionKind
from gitops_bg.core.groups.requests import answer_retries, lift_answered
from gitops_bg.core.groups.routing import captures
from gitops_bg.core.groups.succession import (
    inherited,
    is_lost,
    never_promoted,
    newest_followed,
    reached_members,
    versions_of,
)
from gitops_bg.core.groups.world import GroupWorld, is_in_main, late_routes, member_name
from gitops_bg.core.model.journal import GroupNamed
from gitops_bg.core.model.record import Event


def register_versions_of_main(world: GroupWorld) -> GroupWorld:
    """Follow what main says: holds and retries, versions and services that left, and new ones. Where main does not
    count, nothing is concluded from what it has, or lacks.
    """
    if not world.desired.main.counts:
        return world
    for step in (_forget_changed, lift_answered, answer_retries, _drop_removed, _drop_services, _register_versions):
        world = step(world)
    return world


def _forget_changed(world: GroupWorld) -> GroupWorld:
    """Forget that a version was deleted once its folder says something else, or is gone."""
    kept = tuple(each for each in world.record.deleted if world.content(each.name) == each.content)
    return world.with_record(deleted=kept)


def _drop_removed(world: GroupWorld) -> GroupWorld:
    """Delete versions whose folder left main; never the active one, nor one that traffic moves from or to."""
    for version in world.record.state.versions:
        name = version.name
        if name in world.desired.versions or _is_on_the_move(world, name):
            continue
        if version.stage is VersionStage.ACTIVE:
            message = f"the folder of {name} left main, but it is active: it serves on"
            world = replace(world, rejected=("ActiveVersionRemoved", message))
            continue
        world = world.with_record(state=delete(world.record.state, name))
        world = world.with_ledger_entry(Event.VERSION_DELETED, to=name, reason="its folder left main")
    return world


def _drop_services(world: GroupWorld) -> GroupWorld:
    """Take out the services whose folder left main; of the active version, and of the one that a rollback leads to,
    only those that ``removedServices`` names, and whose requests no other service is to answer.

    People clear folders of old versions away, in which services that still serve were deployed.
    """
    stays, gone, left = [], list[Part](), list[Endpoint]()
    for place in world.record.state.endpoints:
        if is_in_main(place, world.desired):
            stays.append(place)
        elif not _may_leave(world, place):
            stays.append(place)
            left.append(place)
        elif _has_successor(world, place):
            stays.append(place)
        else:
            gone.append(place)
    if left and not any(world.rejected):
        world = replace(world, rejected=("ActiveServiceRemoved", _first_left(left)))
    state = replace(world.record.state, endpoints=tuple(stays))
    for part in (*gone, *_named_no_more(world)):
        state = remove_service(state, part.service, part.version)
        world = world.with_ledger_entry(
            Event.SERVICE_REMOVED, to=part.version, reason=f"the folder of {part.service} left main"
        )
    return world.with_record(state=state)


def _is_on_the_move(world: GroupWorld, version: str) -> bool:
    """Return whether traffic moves from or to a version, or may go back to it: what it has stays until that is over.

    A Gateway that has not taken the last move yet still leads requests to the version that was left.
    """
    moving = world.record.transition
    if version in (*world.record.left, world.fallback):
        return True
    return moving is not None and version in (moving.source, moving.target)


def _may_leave(world: GroupWorld, part: Part) -> bool:
    if _is_on_the_move(world, part.version):
        return False
    stage = world.record.state.stage(part.version)
    return stage not in (VersionStage.ACTIVE, VersionStage.LEGACY) or part.service in world.spec.removed_services


def _has_successor(world: GroupWorld, part: Part) -> bool:
    """Return whether another service is to answer requests of one that may leave: who answers a request changes by a
    promotion (decision 36), so that it stays until then. A route that came into the active version is held back as
    long, and waits for the next one; of the version that Git asks for, it comes with its promotion.
    """
    state, gateway = world.record.state, world.spec.gateway
    active = state.only(VersionStage.ACTIVE)
    if gateway is None or part.version != active:
        return False
    served = {(each.service, each.match) for each in state.routes if each.version == active}
    own = [match for service, match in served if service == part.service]
    return any(
        captures(route.match, match, gateway.hosts)
        for version in {active, world.wanted}
        for service, folder in _services_in(world, version)
        for route in folder.routes
        for match in own
        if service != part.service and route.allowed and not (version == active and (service, route.match) in served)
    )


def _services_in(world: GroupWorld, version: str) -> Iterable[tuple[str, DesiredService]]:
    folder = world.desired.versions.get(version)
    return folder.services.items() if folder is not None else ()


def _named_no_more(world: GroupWorld) -> Iterator[Part]:
    """Yield services without pods that no file names any more."""
    with_pods = {(each.service, each.version) for each in world.record.state.endpoints}
    for each in world.record.state.registrations:
        version = world.desired.versions.get(each.initial_version)
        is_named = version is None or each.service in version.services
        is_free = (each.service, each.version) not in with_pods and not _is_on_the_move(world, each.version)
        if not is_named and is_free:
            yield each


def _first_left(left: Sequence[Endpoint]) -> str:
    each = left[0]
    more = f", and so do {len(left) - 1} more" if len(left) > 1 else ""
    name = f"{each.initial_version}/{each.service}"
    return (
        f"the folder {name} left main, but the service serves in {each.version}{more}: it serves on with its last "
        f"routes; put the folder back, or name {each.service} under removedServices"
    )


def _register_versions(world: GroupWorld) -> GroupWorld:
    """Register the versions and services of the folders, lowest number first.

    A version deleted by a promotion or rollback stays deleted until its folder says something else. One that requests
    move to already gets nothing new: no gate has seen it, as with what is active (`reject_late`).

    Of a group without a record every version up to the one that serves is promoted in turn, as if it had happened so,
    but for those that traffic has not moved to: the record may be lost, and services that only an older folder has must
    serve on.
    """
    was_lost = is_lost(world)
    world = _without_past_lateness(_deployed(_promoted_in_turn(world)) if was_lost else world)
    closed = {each.name for each in world.record.deleted} | _being_switched_to(world)
    for name in sorted(world.desired.versions, key=version_number):
        if name not in closed:
            is_known = world.record.state.stage(name) is not None
            world = _with_services(world, name, world.desired.versions[name])
            if not is_known and world.record.state.stage(name) is not None:
                world = world.with_ledger_entry(Event.CANDIDATE, to=name, reason=_brings(world, name))
    return _without_interrupted_move(world) if was_lost else world


def _deployed(world: GroupWorld) -> GroupWorld:
    """Tell that the first version serves, or the one that did when the record was lost, as of an app."""
    active = world.record.state.only(VersionStage.ACTIVE)
    if not active:
        return world
    return world.with_ledger_entry(
        Event.DEPLOYED, to=active, reason=_brings(world, active), source=world.desired.journal.by(GroupNamed)
    )


def _brings(world: GroupWorld, version: str) -> str:
    return f"with {', '.join(sorted(world.desired.versions[version].services))}"


def _without_interrupted_move(world: GroupWorld) -> GroupWorld:
    """Take back the promotion during which the record was lost: requests are with its target in part, and go back to
    pods that answer, or on, as those of any other (`transition.follow_active`).

    Pods whose folder has left main meanwhile stay until nothing leads to them any more.
    """
    state, reached = world.record.state, reached_members(world)
    gone = versions_of(reached - {member_name(each.service, each.initial_version) for each in state.endpoints})
    if gone:
        world = world.with_record(leaving=gone, left_at=world.now, left=gone)
    target = next((each for each in state.at(VersionStage.CANDIDATE) if each in versions_of(reached)), "")
    if not target:
        return world
    back = Transition(
        TransitionKind.PROMOTION,
        state.only(VersionStage.ACTIVE),
        target,
        TransitionStep.PREPARE,
        world.now,
        world.now,
        world.spec.archive_size,
        withdrawn="the record was lost while requests moved",
        moved=True,
    )
    return world.with_record(transition=back)


def _without_past_lateness(world: GroupWorld) -> GroupWorld:
    """Forget that services came too late into versions that are candidates again, or whose folder they have left."""

    def is_late(service: str, version: str) -> bool:
        folder, stage = world.desired.versions.get(version), world.record.state.stage(version)
        is_there = folder is not None and service in folder.services
        return is_there and stage not in (None, VersionStage.CANDIDATE)

    return world.with_record(late=tuple(each for each in world.record.late if is_late(*each)))


def _being_switched_to(world: GroupWorld) -> set[str]:
    moving = world.record.transition
    return {moving.target} if moving is not None and moving.step is TransitionStep.SWITCH else set()


def reject_late(world: GroupWorld) -> GroupWorld:
    """Say what the legacy or the active version does not get, because it has passed."""
    return _reject_late_services(_reject_late_routes(world))


def _reject_late_routes(world: GroupWorld) -> GroupWorld:
    """Say which route the legacy version does not get, because it has passed, or the active one, because another of
    its services answers these requests.
    """
    if any(world.rejected):
        return world
    late = next(late_routes(world.record.state, world.desired), None)
    if late is not None:
        place, route = late
        message = f"{place.version} has passed: it gets no new route {route.match.path} of {place.service}"
        return replace(world, rejected=(str(Rejection.PASSED), message))
    held = next(world.held_back(), None)
    if held is None:
        return world
    new, was = held
    has = f"{member_name(was.service, was.initial_version)} answers requests of {new.match.path} in {new.version}"
    message = f"{has}, which is active: bring the route of {new.service} with the next version"
    return replace(world, rejected=(str(Rejection.PASSED), message))


def _reject_late_services(world: GroupWorld) -> GroupWorld:
    """Say which service the active version does not take from its folder, because it serves one that it inherited."""
    state = world.record.state
    active = state.only(VersionStage.ACTIVE)
    folder = world.desired.versions.get(active)
    brought = {service for service, one in folder.services.items() if one.pods} if folder is not None else set()
    handed_on = [each for each in state.endpoints if each.version == active != each.initial_version]
    late = next((each for each in handed_on if each.service in brought), None)
    if late is None or any(world.rejected):
        return world
    has = f"{active} serves {late.service} of {late.initial_version}, and is active"
    return replace(world, rejected=(str(Rejection.PASSED), f"{has}: bring {late.service} with the next version"))


def _promoted_in_turn(world: GroupWorld) -> GroupWorld:
    newest, skipped = newest_followed(world) or version_number(world.spec.active), never_promoted(world)
    passed: list[str] = []
    for name in sorted(world.desired.versions, key=version_number):
        if version_number(name) > newest:
            break
        if name in skipped:
            passed.append(name)
            continue
        folder, late = world.desired.versions[name], inherited(world, name)
        brought = {service: each for service, each in folder.services.items() if service not in late}
        world = _with_services(world, name, replace(folder, services=brought))
        state = world.record.state
        if state.stage(name) is VersionStage.CANDIDATE:
            after = promote(world.state, name, world.spec.archive_size, world.now)
            gone = (
                *remember_deleted(world, state, after),
                *(DeletedVersion(each, world.content(each)) for each in passed),
            )
            world, passed = world.with_record(state=after, deleted=gone), []
    return world


def _with_services(world: GroupWorld, name: str, version: DesiredVersion) -> GroupWorld:
    state, late = world.record.state, set(world.record.late)
    for service, desired in sorted(version.services.items()):
        if _has(state, service, name, pods=desired.pods):
            continue
        if (service, name) in late:
            message = f"{name}: {service} came when {name} had passed: bring it with the next version"
            world = replace(world, rejected=(str(Rejection.PASSED), message))
            continue
        try:
            state = add_service(state, service, name, (), world.now, pods=desired.pods)
        except PromotionRejected as error:
            world = replace(world, rejected=(str(error.why), f"{name}: {error}"))
            late |= {(service, name)} if state.stage(name) is not None else set()
    return world.with_record(state=state, late=tuple(sorted(late)))


def _has(state: GroupState, service: str, version: str, *, pods: bool) -> bool:
    """Return whether the state has a service that was deployed in a version, with pods if it shall have some."""
    parts = state.endpoints if pods else state.registrations
    return any((each.service, each.initial_version) == (service, version) for each in parts)


def remember_deleted(world: GroupWorld, before: GroupState, after: GroupState) -> tuple[DeletedVersion, ...]:
    """Return the versions that a transition deleted, with what their folders say now."""
    gone = {each.name for each in before.versions} - {each.name for each in after.versions}
    found = (DeletedVersion(name, world.content(name)) for name in sorted(gone, key=version_number))
    return (*world.record.deleted, *(each for each in found if each.content))

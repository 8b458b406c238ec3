"""The chains of gates: what must be open before traffic moves, in the order in which it is checked (DESIGN §4).

A gate is a function ``(world, version) -> GateResult``. It says whether it is open, why, until when if that is known,
and what a person can do about it; None where the app asks for nothing. The gates are in `checks.app_gates`, and those
that release groups have, too, in `core.delivery.gates`; the chains below say which of them count when, and why. A new
gate is one function there, and one line here.
"""

from collections.abc import Callable, Mapping
from functools import wraps

from gitops_bg.core.checks.adoption.taking_over import services_to_take_over
from gitops_bg.core.checks.app_gates import (
    approval,
    candidate_available,
    confirm_promotion,
    confirm_rollout,
    confirm_switch,
    countdown,
    endpoints_ready,
    enough_available,
    folder_in_main,
    main_is_read,
    offered_alone,
    pods_checked,
    policies_of_first,
)
from gitops_bg.core.checks.subject import round_of
from gitops_bg.core.delivery.gates import (
    AlikeGate,
    Answer,
    alike,
    all_open,
    files_valid,
    flat,
    history_kept,
    live_verdict,
    live_version_judged,
    live_version_not_being_measured,
    not_on_hold,
    not_suspended,
    pre_promotion,
    requests_ours,
    results,
)
from gitops_bg.core.delivery.policies import policies
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.questions import answered_once
from gitops_bg.core.world import World

Gate = Callable[[World, Version], Answer]
Chain = tuple[Gate, ...]
AppGate = Callable[[World, Version | None], Answer]
"""A gate of the app as a whole: it is checked even where there is no version."""


def _of_app(gate: AlikeGate) -> AppGate:
    """A gate that a release group has, too, about a version of the app."""
    return alike(gate, round_of, lambda _, version: version.digest if version is not None else "")


OF_THE_APP: tuple[AppGate, ...] = (
    _of_app(not_suspended),  # somebody wants nothing to move
    main_is_read,  # before the first look at main, what it wants is unknown
    _of_app(files_valid),  # bad input is never partly applied
    folder_in_main,  # nor is an app moved that main no longer describes
    _of_app(history_kept),  # and a main that moved backwards moves nothing
)

STANDING: Chain = (
    _of_app(not_on_hold),  # what was rolled back is not promoted again until somebody says so
    *OF_THE_APP,
)

FIRST_DEPLOYMENT: Chain = (
    candidate_available,  # nothing serves yet: nobody is asked, and nothing is compared
    policies_of_first,  # but rules that hold for every version hold for the first as well
    *STANDING,
)

BEFORE_COMMIT: Chain = (
    confirm_rollout,  # before the version has pods
    _of_app(requests_ours),  # traffic comes by the route of the app
    candidate_available,  # there is something to check
    pods_checked,  # parallel to the analysis, and before it
    _of_app(pre_promotion),  # the measurements of its pods
    _of_app(live_version_judged),  # only one version at a time is on trial with live traffic
    confirm_promotion,  # when all checks have passed, a person is asked
    countdown,  # and has time to object
    *STANDING,
)

BEFORE_OWN_COMMIT: Chain = (
    _of_app(policies),  # whether the agent may promote it now; an offer to people is made regardless
)

SHOWN_BEFORE_COMMIT: Chain = (
    *BEFORE_OWN_COMMIT,
    offered_alone,  # what people merge is what they were shown
    approval,  # who promotes it once all of that is open
)


def _where_others_serve(gate: Gate) -> Gate:
    """The gate where live traffic is taken over from what somebody else runs. An app that gets another name serves
    already, and has passed its gates.
    """

    @wraps(gate)
    def asked(world: World, version: Version) -> Answer:
        taken_over = services_to_take_over(world) and world.spec.adopt and not world.spec.adopt.app
        return gate(world, version) if taken_over else None

    return asked


BEFORE_SWITCH: Mapping[SwitchKind, Chain] = {
    SwitchKind.FIRST: (
        enough_available,  # nothing of the app serves: there is nobody to protect
        *map(_where_others_serve, (policies_of_first, *OF_THE_APP)),  # unless somebody else's pods serve it
    ),
    SwitchKind.PROMOTION: (
        enough_available,  # pods for all of the traffic (I1)
        endpoints_ready,  # and Kubernetes routes to them
        _of_app(requests_ours),
        confirm_rollout,  # a person may have written primary.yaml, so every check counts again, whoever wrote it
        pods_checked,
        _of_app(pre_promotion),
        _of_app(live_version_not_being_measured),  # but a person who merges may overrule a paused analysis
        _of_app(policies),  # time may have passed, and the policies of main may have changed
        confirm_switch,  # asked once more: the commit may be old
        *STANDING,  # no pause: the author of primary.yaml has decided
    ),
    SwitchKind.ROLLBACK: (
        enough_available,  # nothing else may stop a rollback (I6)
    ),
}

SWITCH_BEGUN: Chain = (
    enough_available,  # some of several Services have moved: the switch goes on while there are pods to go to
)

AT_REST: tuple[AppGate, ...] = (
    _of_app(live_verdict),  # no version is next: show the verdict on the serving one
)

HOOKS: tuple[Gate, ...] = (confirm_rollout, pods_checked, confirm_promotion, confirm_switch)
"""The gates that hooks open, or people where the gate is manual."""


@answered_once
def gates_before_commit(world: World, version: Version) -> tuple[GateResult, ...]:
    """What the agent waits for before it writes or offers the promotion of a candidate."""
    return results(BEFORE_COMMIT, world, version)


def gates_before_own_commit(world: World, version: Version) -> tuple[GateResult, ...]:
    """What the agent waits for in addition before it commits a promotion by itself, without an offer to anybody."""
    return results(BEFORE_OWN_COMMIT, world, version)


def gates_before_switch(world: World, version: Version) -> tuple[GateResult, ...]:
    """What must be open at the moment traffic would move to ``version``."""
    return results(BEFORE_SWITCH[world.switch_kind], world, version)


def gates_of_begun_switch(world: World, version: Version) -> tuple[GateResult, ...]:
    """What must be open where some of several Services have already moved to ``version``."""
    return results(SWITCH_BEGUN, world, version)


def gates_before_first(world: World, version: Version) -> tuple[GateResult, ...]:
    """What the first version waits for (DESIGN §4.6)."""
    return results(FIRST_DEPLOYMENT, world, version)


def shut_after_commit(world: World, version: Version) -> tuple[GateResult, ...]:
    """What still keeps traffic from moving after the commit: every gate but the countdown, which a commit
    cuts short.
    """
    gates = results((*_without(BEFORE_COMMIT, countdown), *BEFORE_OWN_COMMIT), world, version)
    return tuple(gate for gate in gates if not gate.open)


def waits_only_for_hooks(world: World, version: Version) -> bool:
    """Whether only hooks keep traffic from moving to ``version``."""
    return all_open(results(_without(BEFORE_SWITCH[world.switch_kind], *HOOKS), world, version))


@answered_once
def gates_to_show(world: World) -> tuple[GateResult, ...]:
    """The gates of the version that is next: the one traffic is on its way to, else the target's."""
    coming = world.incoming
    if coming:
        return gates_before_switch(world, coming)
    wanted = world.target_digest
    if wanted != world.record.routing.traffic and world.record.held(wanted):
        return standing_gates(world, wanted)  # It waits for nothing else: not for pods that nobody wants now.
    version = world.record.version(wanted)
    if version is None or wanted == world.record.routing.traffic:
        return results(AT_REST, world, None)
    if world.record.routing.traffic == "":
        return gates_before_first(world, version)
    return (*gates_before_commit(world, version), *results(SHOWN_BEFORE_COMMIT, world, version))


def standing_gates(world: World, digest: str) -> tuple[GateResult, ...]:
    """The gates that do not depend on pods, for a digest whose version may be forgotten."""
    held = not_on_hold(round_of(world), digest)
    return (*flat((held,)), *results(OF_THE_APP, world, None))


def _without(chain: Chain, *gates: Gate) -> Chain:
    return tuple(gate for gate in chain if gate not in gates)

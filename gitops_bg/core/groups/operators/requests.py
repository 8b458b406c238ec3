"""The step that answers operators of a group: what they ask for in the cluster, each request once, as of an app."""

from collections.abc import Callable, Mapping

from gitops_bg.core.checks.operator_requests import is_too_late
from gitops_bg.core.delivery.hooks import gates_after
from gitops_bg.core.groups.reporting.events import GroupEvent
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.observed import OperatorCommand, Request


def answer_requests(world: GroupWorld) -> GroupWorld:
    """Answer what operators ask for, in the order in which they came; the record keeps the ids of the requests."""
    for request in world.observed.requests:
        operator = world.record.operator
        if not operator.has_answered(request.id):
            world = world.with_record(operator=operator.answering(request.id))
            answer = _ANSWERS.get(request.verb)
            world = answer(world, request) if answer is not None and not is_too_late(request, world.now) else world
    return world


def _set_gate(world: GroupWorld, request: Request) -> GroupWorld:
    gates = gates_after(world.record.hook_state, world.spec.hooks, request)
    if gates == world.record.hook_state:
        return world
    event = GroupEvent.GATE_OPENED if request.verb is OperatorCommand.OPEN_GATE else GroupEvent.GATE_CLOSED
    because = f": {request.reason}" if request.reason else ""
    return world.with_record(hook_state=gates).with_event(event, f"{request.gate}, by {request.by}{because}")


_ANSWERS: Mapping[OperatorCommand, Callable[[GroupWorld, Request], GroupWorld]] = {
    OperatorCommand.OPEN_GATE: _set_gate,
    OperatorCommand.CLOSE_GATE: _set_gate,
}

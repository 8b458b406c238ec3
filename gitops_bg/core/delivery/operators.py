"""What operators ask for in the cluster: each request is answered once, in the order in which they came.

A gate is opened and closed alike for apps and release groups; the other verbs are the subject's own.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.delivery.subject import Rounds, W
from gitops_bg.core.model.hooks import Hook, OpenGate
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Event, HookState

TOO_OLD = timedelta(days=1)
"""After this time nobody carries out a request any more. Long, as the clock of its writer may be wrong."""

_GATES = {OperatorCommand.OPEN_GATE: Event.GATE_OPENED, OperatorCommand.CLOSE_GATE: Event.GATE_CLOSED}


def is_too_late(request: Request, now: datetime) -> bool:
    """Whether a request waited for so long that its writer may want something else by now."""
    return now - request.at > TOO_OLD


def answer_requests(world: W, rounds: Rounds[W]) -> W:
    """Answer what operators ask for; the record keeps the ids of the requests."""
    for request in rounds(world).requests:
        if not rounds(world).operator.has_answered(request.id):
            world = answer_request(world, request, rounds)
    return world


def answer_request(world: W, request: Request, rounds: Rounds[W]) -> W:
    """Carry out one request, unless it waited for too long."""
    asked = rounds(world)
    world = asked.of.with_part(asked.operator.answering(request.id))
    if is_too_late(request, asked.now):
        return world
    return _set_gate(world, request, rounds) if request.verb in _GATES else rounds(world).of.carry_out(request)


def _set_gate(world: W, request: Request, rounds: Rounds[W]) -> W:
    asked = rounds(world)
    gates = gates_after(asked.hook_state, asked.hooks, request)
    if gates == asked.hook_state:
        return world
    of = rounds(asked.of.with_part(gates)).of
    reason = f"{request.gate}: {request.reason}" if request.reason else request.gate
    return of.with_ledger_entry(_GATES[request.verb], of.coming(), reason, request.by)


def gates_after(state: HookState, known: Iterable[Hook], request: Request) -> HookState:
    """The manual gates once somebody has opened or closed one: nothing changes where it is so already, or unknown."""
    others = tuple(gate for gate in state.open_gates if gate.name != request.gate)
    is_open = others != state.open_gates
    if request.verb is OperatorCommand.CLOSE_GATE:
        return replace(state, open_gates=others) if is_open else state
    if is_open or not any(hook.manual and hook.name == request.gate for hook in known):
        return state
    opened = OpenGate(request.gate, request.by, request.at, request.reason)
    return replace(state, open_gates=(*others, opened))

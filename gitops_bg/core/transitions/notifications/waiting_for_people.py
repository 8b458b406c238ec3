"""The step that records that people were alerted to a rollout that waits for them (flagger.md §3.7).

One table words every ledger entry. A wait for people is no ledger entry; it is derived from the gates.
"""

from dataclasses import replace

from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.situations import phase_of
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.decision import GateKind, Phase
from gitops_bg.core.model.events import of_commit
from gitops_bg.core.world import World


def note_awaited(world: World) -> tuple[World, str, str]:
    """The digest for which a person is awaited, and the text to send: once for each rollout, however often the wait
    recurs.

    A hook gate reports itself with an event (`HOOK_REFUSED`).
    """
    coming = world.candidate
    if (
        coming is None
        or coming.rollout == world.record.outbox.alerted
        or phase_of(world) is not Phase.AWAITING_PROMOTION
    ):
        return world, "", ""
    shut = [gate for gate in gates_to_show(world) if not gate.open]
    if [gate.kind for gate in shut] != [GateKind.APPROVAL]:
        return world, "", ""
    world = world.with_part(replace(world.record.outbox, alerted=coming.rollout))
    commit = of_commit(coming.source.commit)
    text = f"{world.spec.app}: {label(coming.number, coming.digest)}{commit} waits for approval: {shut[0].reason}"
    return world, coming.digest, text

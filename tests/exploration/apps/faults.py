"""Seeded faults of adoption and release (`tests.exploration.faults`): for each promise, one that breaks it."""

from tests.exploration.fault import Fault

ADOPTION_FAULTS = (
    Fault(
        "the Service goes back before the Deployment has its pods",
        "checks.adoption",
        "missing = missing if view.available < needed else []",
        "missing = []",
        "adopted: on its way back",
        4,
    ),
    Fault(
        "pods of a first version have no stand-ins",
        "checks.adoption",
        "return tuple(sorted(held.items()))",
        "return ()",
        "adopted: its first version comes up",
        3,
    ),
    Fault(
        "traffic of a released app is sent back to a version",
        "transitions.decisions",
        "    if moves_no_more(world):\n        return world\n",
        "",
        "adopted: released",
        3,
    ),
    Fault(
        "a suspension stops a release",
        "plan.workloads",
        "(world.suspended and not is_releasing(world))",
        "world.suspended",
        "adopted: on its way back",
        3,
    ),
    Fault(
        "a release has no ledger entry",
        "transitions.adoption",
        "    return world.with_ledger_entry(Event.RELEASED, origin=active, commit=world.desired.commit, reason=reason)",
        "    return world",
        "adopted: on its way back",
        3,
    ),
    Fault(
        "what was released keeps its pods",
        "checks.sizes",
        "kept_at_none = is_released(world) or leak_to(world, version)",
        "kept_at_none = bool(leak_to(world, version))",
        "adopted: on its way back",
        3,
    ),
    Fault(
        "what was released is never adopted again",
        "transitions.adoption",
        "return begin_again(world) if _is_wanted_again(world) else world",
        "return world",
        "adopted: released",
        3,
    ),
    Fault(
        "a version is on its way to a released app",
        "world",
        "if self.record.released or self.desired_digest == self.record.routing.traffic:",
        "if self.desired_digest == self.record.routing.traffic:",
        "adopted: released",
        3,
    ),
    Fault(
        "a release waits for a promotion that waits itself",
        "checks.adoption",
        "waits = world.suspended or bool(world.incoming.failure)",
        "waits = False",
        "adopted: its first version comes up",
        4,
    ),
)

"""Seeded faults: small edits of the engine's source, each of which exploration must catch, or it proves nothing.

`python -m tests.exploration.faults NAME` explores an engine with one of them, in a process of its own; it prints the
story that caught it, as JSON, or nothing.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

CORE = "gitops_bg.core."
ROOT = Path(__file__).parents[2]


class Fault(NamedTuple):
    """One edit: in a module of the core, ``old`` (which is there once) becomes ``new``."""

    name: str
    module: str
    old: str
    new: str
    seed: str
    depth: int
    """The seed and the depth that catch it."""


FAULTS = (
    Fault(
        "rolled back is forgotten at the switch",
        "traffic.switching",
        "rolled_back=lane is Lane.ROLLBACK",
        "rolled_back=False",
        "v2 proven",
        3,
    ),
    Fault(
        "a rollback puts no hold",
        "traffic.switching",
        "if world.lane is Lane.ROLLBACK and world.active:",
        "if False:",
        "v2 on probation",
        2,
    ),
    Fault(
        "traffic may go where no pods are",
        "lifecycle.sizes",
        "    full = world.full_size\n    if world.lane is Lane.ROLLBACK:",
        "    return 0\n    full = world.full_size\n    if world.lane is Lane.ROLLBACK:",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "the availability gate is always open",
        "traffic.gates",
        "if world.replica_set(version.digest) and world.available(version.digest) >= needed:",
        "if True:",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "what the live Service selects is not live",
        "lifecycle.retention",
        "return world.is_selected(digest) or decided or digest in (world.record.traffic, world.goal)",
        "return False",
        "v2 on probation",
        3,
    ),
    Fault(
        "a switch is true before the Service shows it",
        "traffic.switching",
        "if switch is None or not world.is_selected_by_all(switch.to_digest):",
        "if switch is None:",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "a switch that is done is not forgotten",
        "traffic.switching",
        "traffic=to.digest, switch=None))\n    world = await",
        "traffic=to.digest))\n    world = await",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "a switch has no ledger entry",
        "traffic.switching",
        "    return world.noting(\n        EVENT_OF[switch.lane]",
        "    return world\n    return world.noting(\n        EVENT_OF[switch.lane]",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "a switch has two ledger entries",
        "traffic.switching",
        "    return world.noting(\n        EVENT_OF[switch.lane]",
        "    world = world.noting(EVENT_OF[switch.lane], to=to, origin=origin)\n    return world.noting(\n        EVENT_OF[switch.lane]",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "entries are forgotten before Git has them",
        "status.memory",
        "entry.sequence > git.ledger_sequence",
        "False",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "a foreign selector is left alone",
        "traffic.services",
        "    return (*active, *_keep_preview(world))",
        "    return _keep_preview(world)",
        "v2 proven",
        2,
    ),
    Fault(
        "an override never ends",
        "traffic.following",
        "    override = world.record.override\n    if override is None:\n        return world\n    arrived",
        "    override = world.record.override\n    return world\n    arrived",
        "v2 on probation",
        2,
    ),
    Fault(
        "an override ends before Git follows",
        "traffic.following",
        "named in (override.from_digest, override.to_digest)",
        "named == override.to_digest",
        "v2 on probation",
        3,
    ),
    Fault(
        "an abort puts no hold",
        "traffic.giving_up",
        "put_hold(world, version, reason=reason, by=by, event=Event.ABORTED), world.active",
        "world, world.active",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "a retry is done again and again",
        "traffic.requests",
        "retry.number <= world.record.retry",
        "False",
        "rolled back with a hold",
        2,
    ),
    Fault(
        "a request is answered again and again",
        "traffic.requests",
        "if request is None or request.id == world.record.request:",
        "if request is None:",
        "v2 on probation",
        3,
    ),
    Fault(
        "an old tag is promoted by itself",
        "lifecycle.versions",
        "return candidate.was_active and (older or candidate.digest in world.record.past_digests)",
        "return False",
        "automatic",
        3,
    ),
    Fault(
        "a bad analysis aborts nothing",
        "analysis.judging",
        "return give_up(world, version, reason=reason) if run.stage is PRE else _roll_back(world, run, reason)",
        "return world",
        "automatic with analyses",
        3,
    ),
    Fault(
        "what traffic goes to is released",
        "lifecycle.versions",
        "if version.digest in (world.record.traffic, world.goal):",
        "if version.digest == world.record.traffic:",
        "v2 on probation",
        3,
    ),
    Fault(
        "the last good version is forgotten",
        "lifecycle.versions",
        '    return {world.record.traffic, world.goal, *named, good.digest if good else ""}',
        "    return {world.record.traffic, world.goal, *named}",
        "no history kept",
        3,
    ),
    Fault(
        "a deadline is not cleared",
        "lifecycle.versions",
        "        aborted=False,\n        scale_down_at=None,\n    )\n\n\ndef is_old_tag",
        "        aborted=False,\n    )\n\n\ndef is_old_tag",
        "v2 on probation",
        3,
    ),
    Fault(
        "the size is not remembered",
        "status.memory",
        "    if target is None or target.replicas == record.replicas:\n",
        "    if True:\n",
        "v2 on probation",
        4,
    ),
    Fault(
        "every promotion branch is stale",
        "traffic.promotion",
        "    if candidate and candidate.digest == branch.digest and not world.record.override:\n        return None\n",
        "",
        "v2 candidate ready",
        2,
    ),
    Fault(
        "what is on hold is offered",
        "traffic.gates",
        "        _countdown(world, version),\n        *standing_gates(world, version.digest),",
        "        _countdown(world, version),",
        "v2 on probation",
        3,
    ),
    Fault(
        "a suspension stops nothing",
        "traffic.gates",
        "if world.suspended and spec.suspend:",
        "if False:",
        "suspended",
        3,
    ),
    Fault(
        "a broken target stops nothing", "traffic.gates", "if desired.problems:", "if False:", "v2 candidate ready", 3
    ),
    Fault(
        "a rebuilt cluster forgets holds",
        "status.memory",
        "holds=tuple(Hold(hold.digest, hold.reason, hold.since) for hold in memory.holds),",
        "holds=(),",
        "rolled back with a hold",
        3,
    ),
    Fault(
        "what was never live is taken for a place to go back to",
        "status.memory",
        "served = view.snapshot.digest in record.past_digests",
        "served = True",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "good pods are taken for bad ones",
        "traffic.probation",
        "is_unready = world.available(active.digest) < min(probation.pods, world.full_size)",
        "is_unready = True",
        "v2 on probation",
        3,
    ),
    Fault(
        "probation never ends",
        "status.timers",
        "    if ends:\n        yield ends",
        "    if False:\n        yield ends",
        "v2 on probation",
        2,
    ),
    Fault(
        "nobody wakes up to scale down",
        "status.timers",
        "        if version.scale_down_at:\n            yield version.scale_down_at\n",
        "",
        "v2 on probation",
        2,
    ),
    Fault(
        "a revert of a push needs no marker",
        "traffic.reverting",
        "    _says_nothing,\n    _says_something_else,\n",
        "",
        "v2 on probation",
        3,
    ),
    Fault(
        "a revert of a push is not followed",
        "traffic.reverting",
        "back == leaving or _objection(world, told)",
        "told",
        "v2 on probation",
        2,
    ),
    Fault(
        "a promotion that was taken back is offered again",
        "traffic.following",
        '    return put_hold(world, version, reason=f"its promotion was taken back',
        '    return world\n    return put_hold(world, version, reason=f"its promotion was taken back',
        "v2 candidate ready",
        4,
    ),
    Fault(
        "a candidate is registered with every pass",
        "lifecycle.versions",
        "    version = world.record.version(digest)\n    if version is None:\n        world = register",
        "    version = None\n    if version is None:\n        world = register",
        "v1 live",
        2,
    ),
    Fault(
        "live traffic goes without override where primary.yaml is older",
        "world",
        "        return self.primary_digest or self.record.traffic",
        "        return self.target_digest or self.record.traffic",
        "v1 live",
        3,
    ),
)


class _Edited(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with another source."""

    def __init__(self, fault: Fault) -> None:
        self._fault, self._name = fault, CORE + fault.module

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=str(file_of(self._fault)))

    def exec_module(self, module: ModuleType) -> None:
        path = file_of(self._fault)
        exec(compile(edited(self._fault), str(path), "exec"), module.__dict__)


def file_of(fault: Fault) -> Path:
    return ROOT / f"{(CORE + fault.module).replace('.', '/')}.py"


def edited(fault: Fault) -> str:
    """The source with the fault."""
    source = file_of(fault).read_text(encoding="utf-8")
    assert source.count(fault.old) == 1, (
        f"{fault.name}: {fault.module} says {source.count(fault.old)} times: {fault.old}"
    )
    return source.replace(fault.old, fault.new)


def caught(fault: Fault) -> dict[str, object] | None:
    """The story that catches a fault, found in a process of its own; None: nothing does."""
    command = [sys.executable, "-m", "tests.exploration.faults", fault.name]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    return json.loads(ran.stdout) if ran.stdout.strip() else None


def main() -> None:
    fault = next(one for one in FAULTS if one.name == sys.argv[1])
    sys.meta_path.insert(0, _Edited(fault))
    from tests.exploration.known import KNOWN
    from tests.exploration.search import explore  # after the edit
    from tests.exploration.seeds import SEEDS

    seed = next(one for one in SEEDS if one.name == fault.seed)
    depth = int(sys.argv[2]) if len(sys.argv) > 2 else fault.depth
    done = explore(seed, depth, stop_at_first=True, unmoved_by=KNOWN, unguarded=True)
    for story in done.stories:
        print(json.dumps({"seed": story.seed, "events": story.events, "promise": story.promise}))
        return


if __name__ == "__main__":
    main()

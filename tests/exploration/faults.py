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


class Story(NamedTuple):
    """As `search.Story`, which a process that edits the core must not import first."""

    seed: str
    events: tuple[tuple[object, ...], ...]
    promise: str


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
        "a way without gates leads to what was rolled back",
        "returning",
        "objection = record.objection(version.digest)",
        "objection = None",
        "v2 on probation",
        3,
    ),
    Fault(
        "that it was bad is forgotten with the hold",
        "traffic.holds",
        "if not hold.cause.is_bad:",
        "if True:",
        "no history kept",
        3,
    ),
    Fault(
        "rewound main moves traffic",
        "knowledge",
        "return self in (Knowledge.SAME, Knowledge.NEWER)",
        "return True",
        "main is rewound",
        2,
    ),
    Fault(
        "older knowledge acts",
        "decide",
        "    world = World(spec, desired if desired.knowledge.counts else desired.unread(), observed, record, now)\n    if desired.knowledge is Knowledge.OLDER:",
        "    world = World(spec, desired, observed, record, now)\n    if False:",
        "two agents",
        4,
    ),
    Fault(
        "older knowledge counts",
        "knowledge",
        "return self in (Knowledge.SAME, Knowledge.NEWER)",
        "return self is not Knowledge.REWRITTEN",
        "two agents",
        4,
    ),
    Fault(
        "an abort with Git away makes no override",
        "traffic.giving_up",
        "    if active is None or world.goal != version.digest:\n        return world\n",
        "    if True:\n        return world\n",
        "a promotion on its way",
        3,
    ),
    Fault(
        "a size that nobody knows is 0",
        "world",
        "return self.target.replicas if self.target else self.record.replicas",
        "return self.target.replicas if self.target else 0",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "an old tag is promoted by itself",
        "lifecycle.versions",
        "return candidate.was_active and not said_so",
        "return False",
        "automatic",
        3,
    ),
    Fault(
        "what was bad is not held again when it is the target again",
        "lifecycle.versions",
        "if objection and objection.lifted is Lift.PASSED_OVER:",
        "if False:",
        "rolled back with a hold",
        4,
    ),
    Fault(
        "a lost record gets no holds back",
        "status.memory",
        "        holds=(*holds, *record.holds),\n        past_holds=(*past, *record.past_holds),\n",
        "",
        "rolled back with a hold",
        3,
    ),
    Fault(
        "a record that begins before the ledger was read asks it never",
        "status.memory",
        "if not record.unrecalled or not world.desired.seen:",
        "if not record.unrecalled:",
        "rebuilt cluster",
        4,
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
        "a switch is true before the Service shows it",
        "traffic.switching",
        "if switch is None or not world.is_selected_by_all(switch.to_digest):",
        "if switch is None:",
        "v2 candidate ready",
        4,
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
        "an abort puts no hold",
        "traffic.giving_up",
        "    world = put_hold(world, version, cause=cause, reason=reason, by=by, event=Event.ABORTED, awaits=waits)\n",
        "",
        "v2 candidate ready",
        2,
    ),
    Fault(
        "a retry is done again and again",
        "traffic.requests",
        "if retry is None or retry.number <= world.record.retry or world.frozen:",
        "if retry is None or world.frozen:",
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
        "a bad analysis before promotion aborts nothing",
        "analysis.judging",
        "    return give_up(world, version, cause=Cause.ANALYSIS_FAILED, reason=reason)",
        "    return world",
        "automatic with analyses",
        3,
    ),
    Fault(
        "a bad analysis after promotion leaves traffic there",
        "analysis.judging",
        "    if run.stage is POST:\n        return _roll_back(world, run, reason)\n",
        "    if run.stage is POST:\n        return world\n",
        "automatic with analyses",
        4,
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
        "what was never live is a place to go back to",
        "returning",
        "if not version.was_active:",
        "if False:",
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
        "a probation wakes nobody",
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
        "live traffic follows the target",
        "world",
        "        return self.named or self.record.traffic",
        "        return self.target_digest or self.record.traffic",
        "v1 live",
        3,
    ),
    Fault(
        "holds are not kept", "traffic.holds", "holds=(*record.holds, hold)", "holds=record.holds", "v2 on probation", 2
    ),
    Fault(
        "a switch that is not wanted any more stays decided",
        "traffic.switching",
        "if record.switch is None:",
        "if True:",
        "v2 candidate ready",
        4,
    ),
    Fault(
        "nobody commits the first version",
        "traffic.promotion",
        "wanted = _return_of_override(world) or _first_commit(world)",
        "wanted = _return_of_override(world)",
        "empty",
        2,
    ),
    Fault(
        "the preview stays with what was archived",
        "traffic.preview",
        "if shown and still_of_use and shown.stage is not Stage.ARCHIVED:",
        "if shown and still_of_use:",
        "v2 on probation",
        3,
    ),
    Fault(
        "a held target is begun again",
        "lifecycle.versions",
        "digest == world.record.traffic or world.record.held(digest):",
        "digest == world.record.traffic:",
        "v2 on probation",
        2,
    ),
    Fault(
        "main does not get the commit of an emergency",
        "traffic.promotion",
        "wanted = _return_of_override(world) or _first_commit(world)",
        "wanted = _first_commit(world)",
        "v2 on probation",
        2,
    ),
    Fault(
        "dates say which commit is newer",
        "traffic.reverting",
        "later = told.source.landed_after(primary.changed_by)",
        "later = str(told.source.date) > str(primary.changed_by.date)",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "an old retry lifts the hold",
        "traffic.requests",
        "    if hold and not is_answered_by(hold, retry):\n        return world\n",
        "",
        "automatic with analyses",
        3,
    ),
    Fault(
        "an old retry that was not seen lifts the hold",
        "traffic.looking",
        "if retry is None or hold is None or is_answered_by(hold, retry) or retry.number <= world.record.retry:",
        "if True:",
        "a promotion on its way",
        4,
    ),
    Fault(
        "an older commit that nobody had seen ends an emergency",
        "traffic.looking",
        "baseline=pending.baseline if awaits else world.record.primary",
        "baseline=pending.baseline",
        "a merge that nobody has seen",
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


def caught(fault: Fault) -> Story | None:
    """The story that catches a fault, found in a process of its own; None: nothing does."""
    command = [sys.executable, "-m", "tests.exploration.faults", fault.name]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    if not ran.stdout.strip():
        return None
    told = json.loads(ran.stdout)
    return Story(told["seed"], tuple(tuple(event) for event in told["events"]), told["promise"])


def main() -> None:
    fault = next(one for one in FAULTS if one.name == sys.argv[1])
    sys.meta_path.insert(0, _Edited(fault))
    from tests.exploration.known import known
    from tests.exploration.search import explore  # after the edit
    from tests.exploration.seeds import SEEDS

    seed = next(one for one in SEEDS if one.name == fault.seed)
    depth = int(sys.argv[2]) if len(sys.argv) > 2 else fault.depth
    done = explore(seed, depth, stop_at_first=True, unmoved_by=known(seed.name), unguarded=True)
    for story in done.stories:
        print(json.dumps({"seed": story.seed, "events": story.events, "promise": story.promise}))
        return


if __name__ == "__main__":
    main()

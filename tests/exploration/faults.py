"""Seeded faults: small edits of the engine's source, each of which exploration must catch, or it proves nothing.

`python -m tests.exploration.faults` (`make faults`) gives the engine each of them, in a process of its own, and tells it
the story that is known to catch it (`faults.json`); where there is none it looks for one, and writes it there. With the
name of one it prints that story, or nothing.

Where a fault is in functions alone, the process is the fork of one that has imported the engine, and these functions get
other code: to import it is ten times as much work as to tell a story. Elsewhere it imports another source.
"""

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from inspect import CO_OPTIMIZED
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from tests.exploration.apps.faults import ADOPTION_FAULTS
from tests.exploration.fault import Fault
from tests.exploration.groups.faults import GROUP_FAULTS


class Story(NamedTuple):
    """As `search.Story`, which a process that edits the core must not import first."""

    seed: str
    events: tuple[tuple[object, ...], ...]
    promise: str


CORE = "gitops_bg.core."
ROOT = Path(__file__).parents[2]
TOLD = Path(__file__).with_name("faults.json")
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([f"tests.exploration.{name}" for name in ("faults", "known", "search", "seeds")])


APP_FAULTS = (
    Fault(
        "a way without gates leads to what was rolled back",
        "delivery.holds",
        "objection = record.objection(digest)",
        "objection = None",
        "v2 on probation",
        3,
    ),
    Fault(
        "that it was bad is forgotten with the hold",
        "model.statements",
        "kept = [*bad, one] if bad else []",
        "kept = []",
        "no history kept",
        3,
    ),
    Fault(
        "a promotion taken back makes a bad version good",
        "model.statements",
        "kept = [*bad, *(each for each in kept if each.says is not Says.REFUSED), one]",
        "kept = [one]",
        "rolled back with a hold",
        4,
    ),
    Fault(
        "rewound main moves traffic",
        "model.main",
        "return self in (Knowledge.SAME, Knowledge.NEWER)",
        "return True",
        "main is rewound",
        2,
    ),
    Fault(
        "older knowledge acts",
        "engine",
        "    world = World(spec, desired if desired.knowledge.counts else desired.unread(), observed, record, now)\n    if desired.main.is_older:",
        "    world = World(spec, desired, observed, record, now)\n    if False:",
        "two agents",
        4,
    ),
    Fault(
        "older knowledge counts",
        "model.main",
        "return self in (Knowledge.SAME, Knowledge.NEWER)",
        "return self is not Knowledge.REWRITTEN",
        "two agents",
        4,
    ),
    Fault(
        "an abort with Git away makes no override",
        "transitions.decisions",
        "    if active is None or world.desired_digest != version.digest:\n        return world\n",
        "    if True:\n        return world\n",
        "a promotion on its way",
        3,
    ),
    Fault(
        "a size that nobody knows is 0",
        "world",
        "return self.target.replicas if self.target else self.record.last_read.replicas",
        "return self.target.replicas if self.target else 0",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "an old tag is promoted by itself",
        "checks.versions",
        "return candidate.was_active and not said_so",
        "return False",
        "automatic",
        3,
    ),
    Fault(
        "what was bad is not held again when it is the target again",
        "transitions.versions",
        "if objection and objection.lifted is Says.PASSED_OVER:",
        "if False:",
        "rolled back with a hold",
        4,
    ),
    Fault(
        "a lost record gets no holds back",
        "delivery.ledger",
        "        statements=preceded(record.statements, before),\n",
        "",
        "rolled back with a hold",
        3,
    ),
    Fault(
        "a record that begins before the ledger was read asks it never",
        "transitions.record",
        "if not record.unrecalled or not world.desired.seen:",
        "if not record.unrecalled:",
        "rebuilt cluster",
        4,
    ),
    Fault(
        "traffic may go where no pods are",
        "checks.sizes",
        "    if world.switch_kind is SwitchKind.ROLLBACK:\n        return max(min(1, full), serving)",
        "    return 0\n    if world.switch_kind is SwitchKind.ROLLBACK:\n        return max(min(1, full), serving)",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "the availability gate is always open",
        "checks.gates",
        "if world.replica_set(version.digest) and world.available(version.digest) >= needed:",
        "if True:",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "a switch is true before the Service shows it",
        "transitions.switching",
        "if switch is None or not _has_moved(world, switch):",
        "if switch is None:",
        "v2 candidate ready",
        4,
    ),
    Fault(
        "a switch has no ledger entry",
        "transitions.switching",
        "    return world.with_ledger_entry(\n        EVENT_OF[switch.switch_kind]",
        "    return world\n    return world.with_ledger_entry(\n        EVENT_OF[switch.switch_kind]",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "a switch has two ledger entries",
        "transitions.switching",
        "    return world.with_ledger_entry(\n        EVENT_OF[switch.switch_kind]",
        "    world = world.with_ledger_entry(EVENT_OF[switch.switch_kind], to=to, origin=origin)\n    return world.with_ledger_entry(\n        EVENT_OF[switch.switch_kind]",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "entries are forgotten before Git has them",
        "delivery.ledger",
        "entry.sequence > sequence",
        "False",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "a foreign selector is left alone",
        "plan.services",
        "back = tuple(_repair(world, name, view) for name, view in _astray(world))",
        "back = ()",
        "v2 proven",
        2,
    ),
    Fault(
        "an override never ends",
        "transitions.decisions",
        "    override = world.record.override\n    if override is None:\n        return world\n    arrived",
        "    override = world.record.override\n    return world\n    arrived",
        "v2 on probation",
        2,
    ),
    Fault(
        "an abort puts no hold",
        "transitions.decisions",
        "    world = put_hold(world, version.digest, cause=cause, reason=reason, by=by, event=Event.ABORTED, awaits=waits)\n",
        "",
        "v2 candidate ready",
        2,
    ),
    Fault(
        "a retry is done again and again",
        "transitions.journal",
        "world = world.with_part(replace(world.record.operator, retry=retry.number))",
        "pass",
        "rolled back with a hold",
        2,
    ),
    Fault(
        "a request is answered again and again",
        "delivery.subject",
        "if not rounds(world).operator.has_answered(request.id):",
        "if True:",
        "v2 on probation",
        3,
    ),
    Fault(
        "a bad analysis before promotion aborts nothing",
        "delivery.analyses",
        "        return of.stop(run.digest, cause, reason)",
        "        return world",
        "automatic with analyses",
        3,
    ),
    Fault(
        "a bad analysis after promotion leaves traffic there",
        "delivery.analyses",
        "        return of.go_back(back, Cause.ANALYSIS_FAILED, reason)",
        "        return world",
        "in analysis after promotion",
        2,
    ),
    Fault(
        "a suspension stops nothing",
        "checks.gates",
        "    _of_app(not_suspended),  #",
        "    #",
        "suspended",
        3,
    ),
    Fault(
        "a broken target stops nothing",
        "checks.gates",
        "    _of_app(files_valid),  #",
        "    #",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "what was never live is a place to go back to",
        "delivery.holds",
        "if version.was_active else NEVER_SERVED",
        "if True else NEVER_SERVED",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "good pods are taken for bad ones",
        "transitions.verdicts",
        "is_unready = world.available(active.digest) < min(stabilization.pods, world.full_size)",
        "is_unready = True",
        "v2 on probation",
        3,
    ),
    Fault(
        "a probation wakes nobody",
        "status.deadlines",
        "    if active and active.stabilization:\n",
        "    if False:\n",
        "v2 on probation",
        2,
    ),
    Fault(
        "nobody wakes up to scale down",
        "status.deadlines",
        "        if until:\n",
        "        if False:\n",
        "v2 on probation",
        2,
    ),
    Fault(
        "a revert of a push needs no marker",
        "checks.git",
        "    _says_nothing,\n    _says_something_else,\n",
        "",
        "v2 on probation",
        3,
    ),
    Fault(
        "a revert of a push is not followed",
        "transitions.journal",
        "back == leaving or revert_objection(world, source, told)",
        "told",
        "v2 on probation",
        2,
    ),
    Fault(
        "live traffic follows the target",
        "world",
        "        return self.named or self.record.routing.traffic",
        "        return self.target_digest or self.record.routing.traffic",
        "v1 live",
        3,
    ),
    Fault(
        "holds are not kept",
        "delivery.holds",
        "world = with_record(world, record.saying(refusal))",
        "world = with_record(world, record)",
        "v2 on probation",
        2,
    ),
    Fault(
        "a way back that Git asked for outlasts what main named since",
        "transitions.decisions",
        " and not (override.commit and is_changed)",
        "",
        "v2 on probation",
        5,
    ),
    Fault(
        "a switch that is not wanted any more stays decided",
        "transitions.switching",
        "if record.routing.switch is None or record.routing.switch.withdrawn:",
        "if True:",
        "v2 candidate ready",
        4,
    ),
    Fault(
        "nobody commits the first version",
        "plan.git",
        "wanted = _return_of_override(world) or _first_commit(world)",
        "wanted = _return_of_override(world)",
        "empty",
        2,
    ),
    Fault(
        "the preview stays with what was archived",
        "transitions.switching",
        "if shown and still_of_use and shown.stage is not Stage.ARCHIVED:",
        "if shown and still_of_use:",
        "v2 on probation",
        3,
    ),
    Fault(
        "a held target is begun again",
        "transitions.versions",
        "digest == world.record.routing.traffic or world.record.held(digest):",
        "digest == world.record.routing.traffic:",
        "v2 on probation",
        2,
    ),
    Fault(
        "main does not get the commit of an emergency",
        "plan.git",
        "wanted = _return_of_override(world) or _first_commit(world)",
        "wanted = _first_commit(world)",
        "v2 on probation",
        2,
    ),
    Fault(
        "dates say which commit is newer",
        "checks.git",
        "later = source.landed_after(primary.changed_by)",
        "later = str(source.date) > str(primary.changed_by.date)",
        "v2 candidate ready",
        3,
    ),
    Fault(
        "an old retry lifts the hold",
        "transitions.journal",
        "if hold is None or is_answered_by(hold, retry):",
        "if True:",
        "automatic with analyses",
        3,
    ),
    Fault(
        "an old retry that was not seen lifts the hold",
        "transitions.journal",
        "if hold is not None and not is_answered_by(hold, retry):",
        "if False:",
        "a promotion on its way",
        4,
    ),
    Fault(
        "an older commit that nobody had seen ends an emergency",
        "transitions.journal",
        "world = _overrule(_know_primary(_know_revert(_know_retry(world))))",
        "world = _overrule(_know_revert(_know_retry(world)))",
        "a merge that nobody has seen",
        3,
    ),
    Fault(
        "0 of 0 pods are enough to go back",
        "checks.sizes",
        "return max(min(1, full), serving)",
        "return serving",
        "two warm versions",
        3,
    ),
    Fault(
        "a main that nobody has read names nothing",
        "world",
        'return "" if self.desired.primary is Missing.ABSENT else self.record.git.primary',
        'return ""',
        "v2 on probation",
        4,
    ),
    Fault(
        "0 of 0 pods are enough to go forward",
        "checks.sizes",
        "return max(1, full, serving)",
        "return serving",
        "v2 candidate ready",
        4,
    ),
    Fault(
        "what an owner would take along is made while it goes",
        "engine",
        "if world.observed.app_going else actions",
        "if False else actions",
        "rolled back with a hold",
        3,
    ),
)

FAULTS = (*APP_FAULTS, *ADOPTION_FAULTS, *GROUP_FAULTS)


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


def told() -> dict[str, Story]:
    """The stories that catch faults, by the names of these; `make faults` looks for those that are missing."""
    stories = json.loads(TOLD.read_text(encoding="utf-8")) if TOLD.exists() else {}
    return {name: _story(story) for name, story in stories.items()}


def caught(fault: Fault) -> Story | None:
    """The story that catches a fault: the one that is told, or one that is looked for. None: nothing catches it.

    What the engine as it is does wrong, too, catches no fault.
    """
    from tests.exploration.search import broken_by, kind_of  # In the process that asks, whose engine is as it is.
    from tests.exploration.seeds import SEEDS

    wrong: list[str] = []
    while story := _with_the_fault(fault, wrong):
        if not broken_by(next(one for one in SEEDS if one.name == story.seed), story.events):
            return story
        wrong.append(kind_of(story.promise))
    return None


def _with_the_fault(fault: Fault, wrong: list[str]) -> Story | None:
    """In a process of its own."""
    if changed(fault):
        with FORKS.Pool(1) as pool:
            return pool.apply(_catch, (fault, frozenset(wrong)))
    command = [sys.executable, "-m", "tests.exploration.faults", fault.name, *wrong]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return _story(json.loads(ran.stdout)) if ran.stdout.strip() else None


def _story(told: dict[str, Any]) -> Story:
    return Story(told["seed"], tuple(tuple(event) for event in told["events"]), told["promise"])


def changed(fault: Fault) -> list[CodeType]:
    """The functions of a module with a fault, as that changes them; none where it changes more than functions."""
    path = file_of(fault)
    sound = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    try:
        return list(_functions(sound, compile(edited(fault), str(path), "exec")))
    except ValueError:
        return []


def _functions(sound: CodeType, faulty: CodeType) -> Iterator[CodeType]:
    """Of a module or a class. ValueError: something else has changed."""
    before, after = ([each for each in one.co_consts if not isinstance(each, CodeType)] for one in (sound, faulty))
    if (sound.co_code, sound.co_names, before) != (faulty.co_code, faulty.co_names, after):
        raise ValueError(faulty.co_qualname)
    inner = ((each for each in one.co_consts if isinstance(each, CodeType)) for one in (sound, faulty))
    for old, new in zip_longest(*inner):
        yield from [new] if new.co_flags & CO_OPTIMIZED else _functions(old, new)


def _edit(fault: Fault) -> None:
    """Gives the functions that this process has imported the code with the fault."""
    codes = {code.co_qualname: code for code in changed(fault)}
    path = str(file_of(fault))
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename == path and one.__code__.co_qualname in codes:
            one.__code__ = codes[one.__code__.co_qualname]


def _catch(fault: Fault, wrong: frozenset[str]) -> Story | None:
    """In this process, whose engine has the fault from now on."""
    if CORE + fault.module in sys.modules:
        _edit(fault)
    else:
        sys.meta_path.insert(0, _Edited(fault))
    from tests.exploration.known import known
    from tests.exploration.search import broken_by, explore, kind_of  # after the edit
    from tests.exploration.seeds import SEEDS

    seeds = {one.name: one for one in SEEDS}
    story = told().get(fault.name)
    promise = broken_by(seeds[story.seed], story.events) if story else ""
    if story and promise and kind_of(promise) not in wrong:
        return story._replace(promise=promise)
    passed_over = known(fault.seed) | wrong
    while True:
        done = explore(seeds[fault.seed], fault.depth, stop_at_first=True, unmoved_by=passed_over, unguarded=True)
        for found in done.stories:
            if promise := broken_by(seeds[fault.seed], found.events):
                return Story(found.seed, found.events, promise)
        if not done.stories:
            return None
        passed_over |= {kind_of(one.promise) for one in done.stories}  # It takes more than one story to see it.


def _tell_all() -> int:
    """Looks for the stories of all faults, two at a time, and writes them; the number of faults that nothing catches."""
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip((fault.name for fault in FAULTS), pool.map(caught, FAULTS), strict=True))
    stories = {name: story._asdict() for name, story in found.items() if story}
    TOLD.write_text(json.dumps(stories, indent=1) + "\n", encoding="utf-8")
    missed = [name for name, story in found.items() if story is None]
    print(f"{len(stories)} of {len(FAULTS)} are caught", *missed, sep="\nnot caught: ")
    return len(missed)


def main() -> int:
    if len(sys.argv) == 1:
        return min(1, _tell_all())
    story = _catch(next(one for one in FAULTS if one.name == sys.argv[1]), frozenset(sys.argv[2:]))
    if story:
        print(json.dumps(story._asdict()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.exploration --depth 5`: explores every seed, prints broken promises as stories."""

import argparse
import gc
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from tests.exploration.known import known
from tests.exploration.quick import hurry
from tests.exploration.search import Explored, Story, explore, kind_of
from tests.exploration.seed import Memory, Seed
from tests.exploration.seeds import SEEDS
from tests.exploration.story import text, write

TOGETHER = 6
"""How many seeds of a family one process explores: what the engine has answered about one, it is not asked again. More
would take more memory than they save time.
"""
Job = tuple[str, int | None, int]
"""A seed, how deep it is explored, and at most how many of its states."""


def _begin() -> None:
    """A worker keeps nearly all it makes: to look for garbage again and again is a sixth of its time."""
    gc.disable()
    hurry()


def _families(seeds: Iterable[Seed]) -> Iterator[list[Seed]]:
    """Those that are explored together."""
    families: dict[Hashable, list[Seed]] = {}
    for one in seeds:
        families.setdefault((one.kind, one.family), []).append(one)
    for family in families.values():
        yield from (family[first : first + TOGETHER] for first in range(0, len(family), TOGETHER))


def _several(jobs: list[Job]) -> list[Explored]:
    by_name, memory = {one.name: one for one in SEEDS}, Memory()
    return [explore(by_name[name], depth, most=most, memory=memory) for name, depth, most in jobs]


def _explore(jobs: list[list[Job]], processes: int) -> Iterator[Explored]:
    """Each family in a process of its own, so that its memory is given back."""
    with multiprocessing.Pool(processes, _begin, maxtasksperchild=1) as pool:
        for family in pool.imap_unordered(_several, jobs, chunksize=1):
            for done in family:
                print(
                    f"{done.seed}: depth {done.depth}, {done.states} states, {done.steps} steps, "
                    f"{done.decisions} decisions, {done.seconds:.1f} s of CPU",
                    flush=True,
                )
                yield done


def _tell(stories: Iterable[Story], *, into_files: bool, unmended: str) -> int:
    """Prints what was found; the number of stories that no file tells as known to be unmended."""
    new = 0
    for story in stories:
        is_known = kind_of(story.promise) in known(story.seed)
        print(
            text(story) + ("\n  (known: a story that is expected to fail tells of it)" if is_known else ""), flush=True
        )
        new += not is_known
        if into_files and not is_known:
            print(f"  written to {write(story, unmended)}")
    return new


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, help="events from each seed (default: as the tests do)")
    parser.add_argument("--seed", action="append", help="only this one")
    parser.add_argument("--kind", choices=["app", "adopted", "group"], help="only seeds of this kind")
    parser.add_argument("--most", type=_of_kinds, default={}, help="states of a seed: app=50000,group=20000")
    parser.add_argument("--least", type=_of_kinds, default={}, help="states of all seeds: fewer are a failure")
    parser.add_argument("--write", action="store_true", help="write each new story as a test")
    parser.add_argument("--unmended", metavar="WHY", default="", help="that test is known to fail, and why")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    seeds = [one for one in SEEDS if one.name in (asked.seed or [one.name]) and one.kind in (asked.kind or one.kind)]
    jobs = [
        [
            (one.name, asked.depth + one.deeper if asked.depth else None, asked.most.get(one.kind, 10_000_000))
            for one in family
        ]
        for family in _families(seeds)
    ]
    # No process is to be left with a large one at the end.
    jobs.sort(key=lambda family: sum(most for _, _, most in family), reverse=True)
    began, new, done = time.monotonic(), 0, []
    for one in _explore(jobs, asked.processes):
        done.append(one)
        new += _tell(one.stories, into_files=asked.write, unmended=asked.unmended)
    took, cpu = time.monotonic() - began, sum(one.seconds for one in done)
    by_name, states = {one.name: one for one in seeds}, Counter[str]()
    for one in done:
        states[by_name[one.seed].kind] += one.states
    told = ", ".join(f"{kind}: {count}" for kind, count in states.items())
    print(f"{states.total()} states ({told}) in {took:.0f} s ({cpu:.0f} s of CPU), {new} promises newly broken")
    few = [f"{kind}: fewer than {least} states" for kind, least in asked.least.items() if states[kind] < least]
    few += [f"{one.seed}: fewer states than before" for one in done if _lacks_states(one, by_name[one.seed])]
    for each in few:
        print(f"{each}, something cannot happen any more")
    return 1 if new or few else 0


def _lacks_states(done: Explored, seed: Seed) -> bool:
    """Whether fewer were found than at the depth of the tests, although it went as deep."""
    return done.depth >= seed.depth and done.states < seed.states


def _of_kinds(text: str) -> dict[str, int]:
    """As ``app=1000000,group=300000``; empty: none is wanted."""
    return {kind: int(least) for kind, least in (one.split("=") for one in text.split(",") if one)}


if __name__ == "__main__":
    sys.exit(main())

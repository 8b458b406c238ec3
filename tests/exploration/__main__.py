"""`python -m tests.exploration --depth 5`: explores every seed, prints broken promises as stories."""

import argparse
import multiprocessing
import sys

from tests.exploration.search import Explored, explore
from tests.exploration.seeds import SEEDS
from tests.exploration.story import text, write


def _one(job: tuple[str, int | None, int]) -> Explored:
    name, depth, most = job
    return explore(next(one for one in SEEDS if one.name == name), depth, most=most)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, help="events from each seed (default: as CI does)")
    parser.add_argument("--seed", action="append", help="only this one")
    parser.add_argument("--most", type=int, default=10_000_000, help="states of a seed")
    parser.add_argument("--write", metavar="WHY", help="write each story as a test that is known to fail, and why")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    jobs = [(one.name, asked.depth, asked.most) for one in SEEDS if not asked.seed or one.name in asked.seed]
    found = 0
    total = 0
    with multiprocessing.Pool(asked.processes, maxtasksperchild=1) as pool:
        for done in pool.imap_unordered(_one, jobs, chunksize=1):
            total += done.states
            print(
                f"{done.seed}: depth {done.depth}, {done.states} states, {done.steps} steps, "
                f"{done.decisions} decisions, {done.seconds:.1f} s of CPU",
                flush=True,
            )
            for story in done.stories:
                found += 1
                print(text(story))
                if asked.write:
                    print(f"  written to {write(story, asked.write)}")
    print(f"{total} states")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

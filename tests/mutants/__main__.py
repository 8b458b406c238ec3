"""Mutants of the core: one small change of its source each, which the tables of `tests/core` must notice.

`python -m tests.mutants` tries all of them, `--sample N` as many, chosen by their text.
"""

import argparse
import sys
from pathlib import Path

from tests.mutants.mutation import Mutant, mutants, sample
from tests.mutants.trial import survivors_of

SURVIVORS = Path(__file__).with_name("survivors.txt")


def survivors() -> dict[str, str]:
    """Mutants that may live, each with the reason why: lines ``file: function: before -> after  # why``."""
    lines = SURVIVORS.read_text(encoding="utf-8").splitlines() if SURVIVORS.exists() else []
    told = (line.partition("  # ") for line in lines if line and not line.startswith("#"))
    return {mutant: why for mutant, _, why in told}


def main() -> int:
    """0 if every mutant that survives is explained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="only so many")
    parser.add_argument("--only", default="", help="only of files whose path contains this")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    chosen = [one for one in (sample(asked.sample) if asked.sample else mutants()) if asked.only in one.file]
    known = survivors()
    alive: list[str] = []

    def tell(mutant: Mutant) -> None:
        alive.append(str(mutant))
        why = known.get(str(mutant), "(unexplained)")
        print(f"{mutant}  # {why}  [{mutant.file}:{mutant.owner.line}]", flush=True)

    survivors_of(chosen, asked.processes, tell)
    unexplained = [one for one in alive if one not in known]
    print(f"{len(chosen)} mutants, {len(alive)} survived, {len(unexplained)} of them unexplained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())

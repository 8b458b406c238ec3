"""Fuzzes every target by coverage, with atheris: `python -m tests.fuzz --seconds 60 [--only NAME]`.

A process for each target. What reaches new code is kept in `.fuzz/<target>/`: the next run goes on from there. What is
found belongs into `tests/fuzz/corpus/`, where a test reads it for ever. Ends with 1 where a target raised an error that
nobody expects, took more than two seconds, or a gigabyte.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus")
KEPT = Path(".fuzz")


def main() -> int:
    """0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--only", default="", help="only targets whose name contains this")
    parser.add_argument("--run", default="", help="fuzz this one in this process")
    asked, rest = parser.parse_known_args()
    if asked.run:
        return _fuzz(asked.run, rest)
    found, names = [], sorted(each.name for each in CORPUS.iterdir() if asked.only in each.name)
    for name in names:
        corpus = _corpus(name)
        limits = ["-timeout=2", "-rss_limit_mb=1024", "-max_len=65536", f"-artifact_prefix={corpus.parent}/found-"]
        command = [sys.executable, "-m", "tests.fuzz", "--run", name, f"-max_total_time={asked.seconds}", *limits]
        done = subprocess.run([*command, str(corpus)], capture_output=True, text=True, check=False)
        said = [line for line in done.stderr.splitlines() if "DONE" in line or "exec/s" in line]
        print(f"{name:26} {said[-1] if said else ''}", flush=True)
        if done.returncode:
            found.append(name)
            print(done.stdout[-4_000:], done.stderr[-1_000:], sep="\n")
    print(f"{len(names)} targets, {len(found)} with a finding{': ' if found else ''}{', '.join(found)}")
    return 1 if found else 0


def _corpus(name: str) -> Path:
    folder = KEPT / name / "corpus"
    shutil.copytree(CORPUS / name, folder, dirs_exist_ok=True)
    return folder


def _fuzz(name: str, rest: list[str]) -> int:
    import atheris

    with atheris.instrument_imports(include=["gitops_bg"]):  # so nothing here may have imported it before
        from tests.fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *rest], TARGETS[name])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.counts` prints how large the house is; with --names also which names stand in two files."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator

from tests.counts import model, source
from tests.counts.source import PRODUCT, TESTS, TOOLS, Source

Row = tuple[str, str]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.counts", description=__doc__)
    parser.add_argument("--names", action="store_true", help="also list the names of classes that stand in two files")
    names = parser.parse_args().names
    product, tests = source.sources(PRODUCT, without=TOOLS), source.sources(TESTS)
    tools = [each for folder in TOOLS for each in source.sources(folder)]
    for label, value in (*_of_text(product, tools, tests), *_of_code(), *_of_tools()):
        print(f"{value:>18}  {label}")
    if names:
        for name, files in source.shared_names(product).items():
            print(f"{name}: {', '.join(files)}")


def _of_text(product: list[Source], tools: list[Source], tests: list[Source]) -> Iterator[Row]:
    lines = {"product": product, "sandbox and demo": tools, "tests": tests}
    for label, files in lines.items():
        yield f"{label}: lines", _number(sum(each.lines for each in files))
        yield f"{label}: lines of code", _number(sum(each.code for each in files))
        yield f"{label}: files", _number(len(files))
    lengths = source.function_lengths(product)
    yield "product: functions", _number(lengths.number)
    yield "product: lines of a function, median", f"{lengths.median:g}"
    yield "product: lines of a function, 90th percentile", _number(lengths.ninetieth)
    yield f"product: longest function ({lengths.longest.place})", _number(lengths.longest.lines)
    yield "product: public names of classes in two files", _number(len(source.shared_names(product)))
    groups = [each for each in product if each.path.startswith(_OF_GROUPS)]
    others = [each for each in product if each.path.startswith("gitops_bg/core/") and each not in groups]
    yield "core: names of functions of apps and of groups", _number(len(source.shared_functions(groups, others)))


_OF_GROUPS = tuple(f"gitops_bg/core/{room}" for room in ("groups/", "group_", "status/group"))
"""Where the core has what only groups have."""


def _of_code() -> Iterator[Row]:
    for kind, number in model.steps().items():
        yield f"steps of the engine of {kind}", _number(number)
    for kind, number in model.record_fields().items():
        yield f"fields of the record of {kind}", _number(number)
    yield "files that `decide` runs through, for an app at rest", _number(model.files_of_a_decision())


def _of_tools() -> Iterator[Row]:
    """Yield what pytest and the linter of imports count; each takes half a minute."""
    collected = _printed([sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"])
    yield "tests: cases", _number(int(_found(r"^(\d+)(?:/\d+)? tests collected", collected)))
    yield "layers of imports kept", _found(r"^Contracts: (\d+ kept, \d+ broken)\.", _printed(["lint-imports"]))


def _printed(command: list[str]) -> str:
    """Return what a command prints; it may fail, as the linter does where a contract is broken."""
    if command[0] != sys.executable:
        command = [str(source.ROOT / ".venv" / "bin" / command[0]), *command[1:]]
    return subprocess.run(command, cwd=source.ROOT, capture_output=True, text=True).stdout


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise SystemExit(f"nothing in this is like {pattern!r}:\n{text[-2_000:]}")
    return match.group(1)


def _number(number: int) -> str:
    return f"{number:,}"


if __name__ == "__main__":
    main()

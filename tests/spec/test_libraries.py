"""A part of a library is imported without its package, which is whole for whoever imports it later."""

from __future__ import annotations

import subprocess
import sys

from tests.support.waiting import HANGS

PROGRAM = """
import sys
from gitops_bg.spec.libraries import import_alone
alone = import_alone("cel.cel")
assert alone.compile("1 + 1").execute({}) == 2
assert "cel.cli" not in sys.modules
import cel
assert cel.compile is alone.compile
assert "cel.cli" in sys.modules
assert import_alone("cel.cel") is alone
try:
    import_alone("no_such_library.part")
except ModuleNotFoundError as error:
    print(error)
"""


def test_a_part_comes_without_its_package_and_the_package_whole_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=HANGS)
    assert (done.stdout, done.stderr) == ("No module named 'no_such_library'\n", "")

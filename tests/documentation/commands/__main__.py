"""`python -m tests.documentation.commands PAGE` prints a page's commands with what they print now."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.documentation.commands import pages
from tests.documentation.commands.blocks import Command
from tests.documentation.commands.shell import Shell
from tests.documentation.commands.world import reader
from tests.support.cluster.clusters import ControlPlaneCluster, SandboxCluster
from tests.support.cluster.control_plane import assets


def main() -> None:
    """Run the page as its test does; go on where a command prints something else."""
    [wanted] = sys.argv[1:]
    paths, start = next((paths, start) for paths, start in pages.STORIES.items() if wanted in paths)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        binaries = assets()
        if start.needs_control_plane:
            assert binaries, "needs KUBEBUILDER_ASSETS"
            running = ControlPlaneCluster.run(binaries, folder)
        else:
            running = SandboxCluster.run(folder)
        with running as cluster, reader(cluster, folder, start) as shell:
            for path in paths[: paths.index(wanted) + 1]:
                pages.run(path, shell, _tell)


def _tell(place: str, command: Command, code: int, shell: Shell) -> None:
    try:
        pages.as_shown(place, command, code, shell, patience=4)
        verdict = ""
    except AssertionError:
        verdict = f"--- {place}: ends with {shell.last.code}, or prints something else than the page shows\n"
    sys.stdout.write(f"$ {command.text}\n{shell.last.printed}{verdict}")


if __name__ == "__main__":
    main()

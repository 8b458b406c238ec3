"""An index of Python packages with a release in it: its wheel, and all that pip installs with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from tests.support.release.made import Release


class PackageIndex:
    """An index in a folder, and a pipx for who installs from it."""

    def __init__(self, folder: Path, release: Release) -> None:
        """Fetch what the release needs from the machine's own index, once."""
        machine = folder / "machine"
        self.pipx = machine / "bin" / "pipx"
        self._home = folder  # pip asks rustc for its version, which writes into the home
        self._run(sys.executable, "-m", "venv", machine)
        python = machine / "bin" / "python"
        self._run(python, "-m", "pip", "install", "--quiet", "pipx>=1.7")
        files, simple = folder / "files", folder / "simple"
        (wheel,) = release.folder.glob("*.whl")
        self._run(python, "-m", "pip", "download", "--quiet", "--dest", files, wheel, "pip")
        self.url = simple.as_uri()
        by_name = defaultdict(list)
        for each in files.iterdir():
            by_name[re.sub(r"[-_.]+", "-", each.name.split("-")[0]).lower()].append(each)
        for name, found in by_name.items():
            page = simple / name / "index.html"
            page.parent.mkdir(parents=True)
            page.write_text("".join(f'<a href="{each.as_uri()}">{each.name}</a>\n' for each in found))

    def _run(self, *command: str | Path) -> None:
        environment = os.environ | {"HOME": str(self._home)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"

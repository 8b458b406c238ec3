"""The command line as one archive for each platform, for people without pip: krew and brew install it.

An archive has every package by the hashes of `.ci/lock`: those that are the same for each Python once, compiled ones
for each Python; a script starts the newest Python of the machine that it has packages for.
"""

import filecmp
import json
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from deploy.release.archives import PROGRAM, Member, members_below, sha256, write_tarball
from deploy.release.packages import install_python
from deploy.release.source import PYTHONS, Scope, Source

PLATFORMS = {
    "linux-amd64": "x86_64-unknown-linux-gnu",
    "linux-arm64": "aarch64-unknown-linux-gnu",
    "darwin-arm64": "aarch64-apple-darwin",
}
"""What Python calls the platforms."""

_SAYS = "Blue-green deployments out of a Git repository"
_START = """\
#!/bin/sh
# Starts gitops-bg with the newest Python of this machine that it has packages for.
place=$(dirname "$(readlink -f "$0")")
for version in {pythons}; do
  if "python$version" -c "" 2>/dev/null; then
    exec "python$version" -I "$place/lib/start.py" {name} "$@"
  fi
done
echo "gitops-bg needs one of Python {pythons} on the PATH" >&2
exit 1
"""
_FIND = """\
\"\"\"Starts a program with the packages for the Python that runs this.\"\"\"

import sys
from importlib import import_module
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here / f"{{sys.version_info[0]}}.{{sys.version_info[1]}}"), str(here / "common")]
del sys.argv[0]
module, function = {names}[sys.argv[0]].split(":")
sys.exit(getattr(import_module(module), function)())
"""


def build(source: Source, wheel: Path, folder: Path, platform: str, scope: Scope) -> Path:
    """Build the archive for one platform."""
    path = folder / f"gitops-bg-{source.version}-{platform}.tar.gz"
    with tempfile.TemporaryDirectory() as work:
        for python in scope.pythons:
            lock = source.folder / ".ci/lock/image.txt"
            install_python(lock, wheel, Path(work) / python, PLATFORMS[platform], python)
            shutil.rmtree(Path(work) / python / "bin", ignore_errors=True)
        _share([Path(work) / python for python in scope.pythons], Path(work) / "common")
        members = (*members_below(Path(work), "lib/"), *_own(source, scope.pythons))
        write_tarball(path, members, source.date, scope.effort)
    return path


def scripts_of(source: Source) -> Mapping[str, str]:
    """Return the programs, each with the function that it starts, as `pyproject.toml` names them."""
    found: Mapping[str, str] = tomllib.loads((source.folder / "pyproject.toml").read_text())["project"]["scripts"]
    return found


def krew_manifest(source: Source, archives: Mapping[str, Path]) -> str:
    """Return the manifest by which `kubectl krew install bg` finds the archives. JSON, which is YAML."""
    description = (
        "Promotes, rolls back and explains apps that gitops-bg runs out of a Git repository: `kubectl bg get`, "
        "`kubectl bg explain APP`, `kubectl bg rollback APP`."
    )
    body = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "bg"},
        "spec": {
            "version": f"v{source.version}",
            "homepage": source.url,
            "shortDescription": _SAYS,
            "description": description,
            "caveats": f"Needs Git 2.36 or newer, and one of Python {', '.join(reversed(PYTHONS))}, on the PATH.",
            "platforms": [
                {
                    "selector": {"matchLabels": dict(zip(("os", "arch"), platform.split("-"), strict=True))},
                    "uri": f"{source.downloads}/{path.name}",
                    "sha256": sha256(path),
                    "files": [{"from": "*", "to": "."}],
                    "bin": "kubectl-bg",
                }
                for platform, path in sorted(archives.items())
            ],
        },
    }
    return json.dumps(body, indent=2) + "\n"


def brew_formula(source: Source, archives: Mapping[str, Path]) -> str:
    """Return the formula by which `brew install gitops-bg` finds the archives, for a tap."""
    lines = [
        "class GitopsBg < Formula",
        f'  desc "{_SAYS}"',
        f'  homepage "{source.url}"',
        f'  version "{source.version}"',
        '  license "Apache-2.0"',
        "",
        '  depends_on "git"',
        f'  depends_on "python@{PYTHONS[1]}"',
    ]
    systems = {"linux": "on_linux", "darwin": "on_macos"}
    cpus = {"amd64": "on_intel", "arm64": "on_arm"}
    for system, block in systems.items():
        lines += ["", f"  {block} do"]
        for platform, path in sorted(archives.items()):
            if platform.startswith(f"{system}-"):
                lines += [f"    {cpus[platform.partition('-')[2]]} do"]
                lines += [f'      url "{source.downloads}/{path.name}"', f'      sha256 "{sha256(path)}"', "    end"]
        lines += ["  end"]
    lines += ["", "  def install", '    libexec.install Dir["*"]']
    lines += [f'    bin.install_symlink libexec/"{name}"' for name in scripts_of(source)]
    lines += ["  end", "", "  test do", '    assert_match version.to_s, shell_output("#{bin}/gitops-bg --version")']
    return "\n".join([*lines, "  end", "end"]) + "\n"


def _share(folders: list[Path], common: Path) -> None:
    """Keep once what every Python has alike: whole packages, since Python looks for one in one place."""
    common.mkdir()
    first, *others = folders
    for entry in sorted(first.iterdir()):
        if all(_alike(entry, other / entry.name) for other in others):
            entry.rename(common / entry.name)
            for other in others:
                _remove(other / entry.name)


def _alike(left: Path, right: Path) -> bool:
    if left.is_file():
        return right.is_file() and filecmp.cmp(left, right, shallow=False)
    mine, theirs = ({each.name: each for each in members_below(place)} for place in (left, right))
    if mine.keys() != theirs.keys():
        return False
    return all(filecmp.cmp(left / name, right / name, shallow=False) for name in mine)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _own(source: Source, pythons: tuple[str, ...]) -> Iterator[Member]:
    """Yield the scripts that start it, and the licence."""
    scripts = scripts_of(source)
    for name in scripts:
        yield Member(name, _START.format(pythons=" ".join(pythons), name=name).encode(), PROGRAM)
    yield Member("lib/start.py", _FIND.format(names=dict(scripts)).encode())
    yield Member("LICENSE", source.folder / "LICENSE")

"""``python -m deploy.release build 0.1.0`` makes a release in `.release/0.1.0`, as `make release VERSION=0.1.0` does;
``push`` brings its image and chart into a registry.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import httpx

from deploy.release import build, oci, source
from deploy.release.source import EXAMPLE_URL, ROOT, Refused
from deploy.release.statements import Key


def main() -> int:
    """Read the command line, and do what it says."""
    asked = _parser().parse_args()
    try:
        _build(asked) if asked.command == "build" else _push(asked)
    except (Refused, FileExistsError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except httpx.HTTPError as error:
        sys.stderr.write(f"error: the registry does not take it: {error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("build", help="make a release; nothing leaves the machine")
    make.add_argument("version", help="such as 0.1.0 or 0.1.0-rc.1")
    make.add_argument("--registry", default="", help="where image and chart will be, such as registry.example/tools")
    make.add_argument("--url", default=EXAMPLE_URL, help="where the repository is looked at, without .git")
    make.add_argument(
        "--downloads", default="", help="where its files will be; default: URL/releases/download/vVERSION"
    )
    make.add_argument("--key", type=Path, help="a PEM file with the key that signs; without it nothing is signed")
    make.add_argument("--builder", default="", help="who builds, as an address, for the provenance")
    make.add_argument("--draft", action="store_true", help="also of files that are in no commit")
    bring = commands.add_parser("push", help="bring image, chart and signatures of a release into its registry")
    bring.add_argument("version")
    bring.add_argument("--registry", required=True, help="where to, such as registry.example/tools")
    bring.add_argument("--plain-http", action="store_true", help="the registry speaks no TLS")
    for each in (make, bring):
        each.add_argument("--folder", type=Path, default=ROOT / ".release", help="where releases are")
    return parser


def _build(asked: argparse.Namespace) -> None:
    key = Key.read(asked.key) if asked.key else None
    with tempfile.TemporaryDirectory(prefix="gitops-bg-") as work:
        where = (asked.version, asked.registry, asked.url)
        tree = source.prepare(Path(work), *where, downloads=asked.downloads, may_be_dirty=asked.draft)
        build.build(tree, asked.folder / asked.version, key, asked.builder or f"{tree.url}/make-release")
    done = [f"made {asked.folder / asked.version}"]
    done += [] if key else ["not signed: give it --key"]
    done += [] if asked.registry and tree.url != EXAMPLE_URL else ["not to be published: give it --registry and --url"]
    sys.stdout.write("\n".join([*done, ""]))


def _push(asked: argparse.Namespace) -> None:
    layout = oci.Layout(asked.folder / asked.version / "oci")
    user, secret = os.environ.get("REGISTRY_USER", ""), os.environ.get("REGISTRY_PASSWORD", "")
    with oci.Registry.connect(plain=asked.plain_http, user=user, secret=secret) as registry:
        for each in registry.push(layout, asked.registry):
            sys.stdout.write(f"{each}\n")


if __name__ == "__main__":
    sys.exit(main())

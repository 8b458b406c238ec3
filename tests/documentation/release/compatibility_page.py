"""Writes docs/reference/compatibility.md: with what gitops-bg is tested, read from where the tests take it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "compatibility.md"
COMMAND = "python -m tests.documentation --write-docs"

_HEAD = f"""\
# Compatibility

Written by `{COMMAND}` (`make docs`). The versions in "Tested with" come from where the tests take
each part, as far as a module or a script names it. CI runs these tests wherever the part can be had; elsewhere they are
skipped, and say so.

| What | Works with | Tested with | By |
|---|---|---|---|
"""
_TAIL = """
"Real" means that the program itself runs in the test. GitHub and GitLab cannot be run: servers of the tests answer as
their documentation says, and the suite that all adapters share runs on them and on the real Gitea.

An agent reads what every earlier release stored; the command line and the agent of one minor release fit each other.
What a release may change says [what stays as it is](stability.md).
"""


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(f"| {' | '.join(row)} |\n" for row in _rows()) + _TAIL


def _rows() -> list[tuple[str, str, str, str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = [each.rpartition(" ")[2] for each in project["classifiers"] if "Python :: 3." in each]
    newest, oldest = _module("control-plane", "k8s.io/kubernetes"), "1.20.2"
    etcd = _module("control-plane", "go.etcd.io/etcd/server/v3")
    return [
        (
            "Kubernetes",
            "1.20 and newer",
            f"{newest} with etcd {etcd}, and {oldest}: real etcd, kube-apiserver, kube-controller-manager",
            "all tests that need a cluster; on the oldest `make test-control-plane` ([differences](kubernetes.md))",
        ),
        (
            "Python",
            f"{pythons[0]} to {pythons[-1]}",
            "the one of the machine; packages for each are in a release",
            "all",
        ),
        ("Git", "2.36 and newer", "the one of the machine", "`tests/integration/repo`"),
        ("Gitea, Forgejo", "1.21 and newer", "real Gitea 1.26.0", "`tests/forge/adapters`, `tests/stories.py`"),
        (
            "GitHub, GitLab",
            "[their versions](../features/pull-requests.md#forges-tokens-and-rights)",
            "servers that answer as documented",
            "`tests/forge`",
        ),
        (
            "Gateways",
            "the Gateway API, v1",
            f"real Traefik {_module('traefik', 'github.com/traefik/traefik/v3')}; definitions of the Gateway API "
            f"{_script('gateway-api/fetch.sh', r'^version=v([0-9.]+)')}",
            "`tests/integration/traffic`",
        ),
        (
            "Helm",
            "3.8 and newer",
            f"real Helm {_module('helm', 'helm.sh/helm/v4')}",
            "`tests/integration/cluster/test_chart.py`, `tests/integration/release/test_installed.py`",
        ),
        (
            "kustomize",
            "that of kubectl 1.21 and newer",
            f"that of kubectl {newest}",
            "`tests/integration/cluster/test_chart.py`",
        ),
        ("Prometheus", "2.40 and newer", "real promtool of Debian", "`tests/monitoring`"),
        (
            "Registries",
            "those of OCI",
            f"the registry of crane {_module('release', 'github.com/google/go-containerregistry')}",
            "`tests/integration/release/test_installed.py`",
        ),
        (
            "cosign",
            "3; 2 without `--new-bundle-format=false`, untested",
            f"real cosign {_module('release', 'github.com/sigstore/cosign/v3')}",
            "`tests/integration/release/test_installed.py`",
        ),
        (
            "krew",
            "0.4",
            f"real krew {_module('release/krew', 'sigs.k8s.io/krew')}",
            "`tests/integration/release/test_made.py`",
        ),
        (
            "Machines",
            "Linux on amd64 and arm64; the command line also on macOS with arm64",
            "Linux on amd64; for the others, that every file is of its architecture",
            "`tests/integration/release/test_made.py`",
        ),
    ]


def _module(part: str, module: str) -> str:
    """The version of a Go module that a part is built from."""
    return _script(f"{part}/go.mod", rf"^\s*(?:require )?{re.escape(module)} v(\S+)")


def _script(path: str, pattern: str) -> str:
    found = re.search(pattern, (ROOT / "tests" / "support" / path).read_text(), re.MULTILINE)
    assert found, f"tests/support/{path} says no version"
    return found[1]

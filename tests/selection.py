"""What `make test` runs, and what only `make test-all` and CI run: the mark `slow`.

All that computes runs in both. Of the tests with real parts `make test` runs the story of each row of `actions.md`, and
a few files that show Git, HTTP and the demo; the rest proves the same again at size, on other clusters, with deaths,
rivals or attacks.
"""

from __future__ import annotations

from tests.stories import STORIES

WITH_REAL_PARTS = ("tests/attacks/", "tests/conformance/", "tests/e2e/", "tests/fuzz/", "tests/integration/")
SHOWN = (
    "tests/integration/demo/test_story.py",
    "tests/integration/repo/git/test_transport.py",
    "tests/integration/repo/ledger/test_ledger.py",
    "tests/integration/repo/test_promotions.py",
    "tests/integration/sandbox/test_kubectl.py",
    "tests/integration/web/test_server.py",
    "tests/integration/web/test_webhook.py",
)
"""Files of which `make test` runs all: Git over HTTP, ledger, promotion branches, kubectl, the web server, the demo."""
ON_OTHERS = ("control_plane", "real_forge", "real_gateway")
"""Marks of tests that run the same again on a part that is not of this repository."""

HOLD_THE_SANDBOX = ("tests/integration/cluster/", "tests/integration/sandbox/", "tests/integration/test_two_clusters")
"""Where the sandbox is held to the real API server: what is there runs on both, so that everything else needs one."""

_TOLD = frozenset(STORIES.values())
_FILES = frozenset(node.partition("::")[0] for node in _TOLD) | frozenset(SHOWN)


def is_shown(file: str) -> bool:
    """Say whether `make test` needs ``file`` (a path in the repository); others are not even imported."""
    return not file.startswith(WITH_REAL_PARTS) or file in _FILES


def is_first(node: str) -> bool:
    """Say whether `make test` runs the test with the id ``node``; those of a table all run, or none."""
    file, test = node.partition("::")[0], node.partition("[")[0]
    return not file.startswith(WITH_REAL_PARTS) or file in SHOWN or test in _TOLD


def is_told_twice(node: str, cluster: object) -> bool:
    """Say whether the test with the id ``node`` tells on ``cluster``, or behind its Gateway, what it tells on the real
    one as well.
    """
    return cluster == "sandbox" and not node.startswith(HOLD_THE_SANDBOX)

"""The fixtures that all tests share: above all `cluster`, which is one of the two clusters of DESIGN §9.

Each pytest-xdist worker has clusters of its own, made when first asked for (the control plane takes about four
seconds); each test has a namespace of its own.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from gitops_bg.cli.demo.gitea import gitea_at_hand
from tests.selection import ON_OTHERS, is_first, is_shown, is_told_twice
from tests.support.cluster.clusters import ControlPlaneCluster, SandboxCluster, TestCluster
from tests.support.cluster.control_plane import HOW_TO_GET_THEM, assets
from tests.support.cluster.traefik import why_not
from tests.support.forges import gitea
from tests.support.git.remote import GitRemote
from tests.support.runs import seconds
from tests.support.runs.failures import FailuresAtOnce

if TYPE_CHECKING:
    from tests.support.release.made import Releases

ROOT = Path(__file__).parents[1]
FIRST = "not slow"
"""The expression of marks by which `make test` chooses."""

# Here for the bill of materials; `jsonschema` takes it where it is there. To parse its grammar takes each process two
# seconds, and no test asks whether a text is an IRI.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

_SHARED: list[TestCluster] = []
"""The clusters of this worker that tests share."""

# No test depends on speed: by itself a property fails where one example takes 200 ms, or where making them is slow.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import what `make test` will not run: a seventh of its time."""
    unwanted = config.option.markexpr == FIRST and collection_path.name.startswith("test_")
    return True if unwanted and not is_shown(collection_path.relative_to(ROOT).as_posix()) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what needs the real control plane, or forge, where the machine has none, with the way to get it.

    A story is told on one cluster, or behind one Gateway: the real one where it is there and wanted. The slowest tests
    come first: no worker is left alone with one of them while the others have nothing to do.
    """
    if assets() is not None and config.option.markexpr != FIRST:
        twice = ["cluster", "siege"] if why_not() else ["cluster", "siege", "gateway"]
        left_out = {item for item in items if any(is_told_twice(item.nodeid, _parameter(item, each)) for each in twice)}
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    for item in items:
        if not is_first(item.nodeid) or any(map(item.get_closest_marker, ON_OTHERS)):
            item.add_marker(pytest.mark.slow)
    needs = {"control_plane": (assets(), HOW_TO_GET_THEM), "real_forge": (gitea_at_hand(), gitea.HOW_TO_GET_IT)}
    for marker, (found, how_to_get_it) in needs.items():
        if found is None:
            skip = pytest.mark.skip(reason=how_to_get_it)
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(skip)


def _parameter(item: pytest.Item, name: str) -> object:
    return item.callspec.params.get(name) if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for garbage in what tests make, and neither among nor in all that is imported and collected.

    A third of the time of the collection, and 3 % of that of `make test`.
    """
    gc.disable()
    yield
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Tell of failed tests at once; the workers of a run have no terminal."""
    if terminal := config.pluginmanager.getplugin("terminalreporter"):
        config.pluginmanager.register(FailuresAtOnce(terminal.write))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end of a run how long each folder took, on all workers together."""
    reports = [each for kind in terminalreporter.stats.values() for each in kind if isinstance(each, pytest.TestReport)]
    if lines := seconds.table(reports):
        terminalreporter.section("seconds and tests of each folder")
        terminalreporter.write("\n".join(lines) + "\n")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests read of the repositories of their stories is in no cache of the machine, and goes with the session."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_CACHE_HOME", str(folder))
        yield
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def sandbox_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxCluster]:
    """The sandbox that tests share. One who injects faults runs a `SandboxCluster.run` of their own."""
    with SandboxCluster.run(tmp_path_factory.mktemp("sandbox")) as cluster, _shared(cluster):
        yield cluster


@pytest.fixture
def own_sandbox(tmp_path: Path) -> Iterator[SandboxCluster]:
    """A sandbox that nobody shares, for tests that inject faults or count every request."""
    with SandboxCluster.run(tmp_path) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def control_plane_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlaneCluster]:
    """The real control plane; a test that asks for it directly carries the mark `control_plane`."""
    with _control_plane(tmp_path_factory.mktemp("control-plane")) as cluster, _shared(cluster):
        yield cluster


@pytest.fixture
def own_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlaneCluster]:
    """A real control plane that nobody shares; all of it ends with the test."""
    with _control_plane(tmp_path_factory.mktemp("own-control-plane")) as cluster:
        yield cluster
    gc.collect()  # What its death left open is told in this test, and not in one that comes later.


@contextmanager
def _control_plane(folder: Path) -> Iterator[ControlPlaneCluster]:
    binaries = assets()
    if binaries is None:
        pytest.skip(HOW_TO_GET_THEM)
    with ControlPlaneCluster.run(binaries, folder) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    """Releases by their version, each built once for all processes."""
    from tests.support.release.made import Releases

    base = tmp_path_factory.getbasetemp()
    return Releases((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "releases")


@pytest.fixture(scope="session")
def real_forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gitea.Gitea]:
    """A real Gitea that the tests of a worker share, each with a repository of its own (mark `real_forge`)."""
    forge = gitea_at_hand()
    if forge is None:
        pytest.skip(gitea.HOW_TO_GET_IT)
    folder = tmp_path_factory.mktemp("forge")
    everybody = tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with gitea.running(forge, everybody / "forge-template", folder / "server") as server:
        yield server


ON_EITHER_CLUSTER = ["sandbox", pytest.param("control-plane", marks=pytest.mark.control_plane)]
"""The parameters of a fixture that gives one cluster after the other."""


def shared_cluster(request: pytest.FixtureRequest) -> TestCluster:
    """The cluster of these that a fixture is asked for; tests share it."""
    name = {"sandbox": "sandbox_cluster", "control-plane": "control_plane_cluster"}[request.param]
    chosen: TestCluster = request.getfixturevalue(name)
    return chosen


@pytest.fixture(params=ON_EITHER_CLUSTER)
def cluster(request: pytest.FixtureRequest) -> TestCluster:
    """One cluster after the other; of the two, a story is told on one (`tests/selection.py`)."""
    return shared_cluster(request)


@contextmanager
def _shared(cluster: TestCluster) -> Iterator[None]:
    _SHARED.append(cluster)
    yield
    _SHARED.remove(cluster)


@pytest.fixture(autouse=True)
def _namespaces_end() -> Iterator[None]:
    """What a test leaves in a cluster that it shares, the next one would see in `gitops-bg get`."""
    before = {cluster: set(cluster.namespaces) for cluster in _SHARED}
    yield
    for cluster in _SHARED:
        for name in cluster.namespaces - before.get(cluster, set()):
            cluster.forget(name)


@pytest.fixture
def namespace(cluster: TestCluster) -> str:
    """A namespace of the test's own."""
    return cluster.namespace()


@pytest.fixture
def git_remote(tmp_path: Path) -> GitRemote:
    """An empty Git remote, and a user's clone of it."""
    return GitRemote(tmp_path / "git")

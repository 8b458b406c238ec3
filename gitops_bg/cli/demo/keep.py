"""`--keep`: suggests commands and leaves everything running until Ctrl-C. Starts and ends nothing itself."""

import os
import time

from gitops_bg import __version__
from gitops_bg.cli.demo.scene import FurtherCluster, Scene
from gitops_bg.cli.demo.screen import Screen
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import DEPLOYMENTS
from gitops_bg.web.dashboard.app import dashboard_server

_LATEST = 2_000
_NAME = "gitops-bg"


def leave_running(scene: Scene, screen: Screen) -> None:
    """Show the addresses, then wait for Ctrl-C, or until the agent exits."""
    with dashboard_server(scene.agent, "127.0.0.1", 0) as dashboard:
        _announce(scene, dashboard.url)
        _print_access(scene, screen, dashboard.url)
        _wait(scene, screen)


def _announce(scene: Scene, dashboard: str) -> None:
    """Let the cluster say what an installed agent's Deployment does: where the dashboard is, for `open --dashboard`. It
    has no pods: the agent runs in this process.
    """
    labels = {"app.kubernetes.io/name": _NAME}
    settings = [
        {"name": "GITOPS_BG_PUBLIC_URL", "value": dashboard},
        {"name": "GITOPS_BG_REPO", "value": scene.remote.url},
        {"name": "GITOPS_BG_CLUSTER", "value": scene.name},
    ]
    containers = [{"name": "agent", "image": f"{_NAME}:{__version__}", "env": settings}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": _NAME, "namespace": _NAME, "labels": labels},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }
    scene.sandbox.create_namespace(_NAME)
    client = Client(Access(kubeconfig=scene.kubeconfig))
    try:
        client.create(DEPLOYMENTS, body)
    finally:
        client.close()


def _wait(scene: Scene, screen: Screen) -> None:
    try:
        while not (dead := [why for each in scene.clusters for why in each.agent.liveness_problems()]):
            time.sleep(0.2)
            for each in scene.clusters:
                each.traffic.forget(_LATEST)
    except KeyboardInterrupt:
        screen.print_note("stopping")
    else:
        screen.missed("an agent ended: " + "; ".join(dead))


def _print_access(scene: Scene, screen: Screen, dashboard: str) -> None:
    screen.title(f"\nEverything goes on until Ctrl-C. In a browser: {dashboard}. In another terminal:")
    for why, command in suggested(scene):
        screen.command(why, command)


def suggested(scene: Scene) -> list[tuple[str, str]]:
    """Return what to type in another terminal, and why."""
    return [
        ("use the cluster", f"export KUBECONFIG={os.pathsep.join(str(each.kubeconfig) for each in scene.clusters)}"),
        *scene.seen.commands(),
        *(more for each in scene.further for more in _elsewhere(each)),
        ("be a user, and push what you like (a tag with `bad` never starts)", f"git clone {scene.remote.bare} shop"),
        ("", f"cd shop && gitops-bg explain {scene.seen.key}"),
        *([("what is where", "gitops-bg environments")] if scene.further else []),
        ("the ledger", f"git log origin/{scene.ledger}"),
        ("what the agent says", f"tail -f {' '.join(str(log) for log in scene.logs)}"),
    ]


def _elsewhere(cluster: FurtherCluster) -> list[tuple[str, str]]:
    return [
        (f"the app in {cluster.name}, and its live traffic", f"gitops-bg get --context {cluster.name}"),
        ("", f"curl {cluster.seen.url}"),
    ]

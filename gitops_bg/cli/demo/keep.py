"""`--keep`: suggests commands and leaves everything running until Ctrl-C. Starts and ends nothing itself."""

import time

from gitops_bg.cli.demo.scene import Scene
from gitops_bg.cli.demo.screen import Screen
from gitops_bg.web.dashboard.app import dashboard_server

_LATEST = 2_000


def leave_running(scene: Scene, screen: Screen) -> None:
    """Show the addresses, then wait for Ctrl-C, or until the agent exits."""
    with dashboard_server(scene.agent, "127.0.0.1", 0) as dashboard:
        _print_access(scene, screen, dashboard.url)
        _wait(scene, screen)


def _wait(scene: Scene, screen: Screen) -> None:
    try:
        while not scene.agent.liveness_problems():
            time.sleep(0.2)
            scene.traffic.forget(_LATEST)
    except KeyboardInterrupt:
        screen.print_note("stopping")
    else:
        screen.missed("the agent ended: " + "; ".join(scene.agent.liveness_problems()))


def _print_access(scene: Scene, screen: Screen, dashboard: str) -> None:
    screen.title(f"\nEverything goes on until Ctrl-C. In a browser: {dashboard}. In another terminal:")
    for why, command in suggested(scene):
        screen.command(why, command)


def suggested(scene: Scene) -> list[tuple[str, str]]:
    """Return what to type in another terminal, and why."""
    return [
        ("use the cluster", f"export KUBECONFIG={scene.kubeconfig}"),
        *scene.seen.commands(),
        ("be a user, and push what you like (a tag with `bad` never starts)", f"git clone {scene.remote.bare} shop"),
        ("", f"cd shop && gitops-bg explain {scene.seen.key}"),
        ("the ledger", f"git log origin/{scene.ledger}"),
        ("what the agent says", f"tail -f {scene.log}"),
    ]

"""`status`: each phase of an app as a line, until it has settled; the exit code says how. Only reads."""

import math
import time
from typing import Annotated

import typer

from gitops_bg.cli.errors import ObjectNotFound
from gitops_bg.cli.options.durations import positive_seconds, spoken
from gitops_bg.cli.options.options import App, LiveOptions
from gitops_bg.cli.session.live_session import LiveSession, access
from gitops_bg.cli.views.condition_meanings import drawn, json_of
from gitops_bg.cli.views.exit_status import Standing, standing_of
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.watching.watch_changes import changes
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.core.model.version import AppKey


def status(
    app: App,
    at: LiveOptions,
    watch: Annotated[
        bool, typer.Option("--watch/--no-watch", "-w", help="Wait until it has settled, or look once.")
    ] = True,
    until_asked: Annotated[
        bool,
        typer.Option("--until-asked", help="A promotion that waits for a person, a pause or a suspension ends it too."),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            parser=positive_seconds, metavar="DURATION", show_default="none", help="Wait no longer than this."
        ),
    ] = math.inf,
) -> int:
    """Show the phases of an app, a line each with its reason, until it has settled. The exit code says how.

    0: Healthy. 1: Degraded, ScaledToZero, Invalid or Held. 6: a person is asked (AwaitingPromotion, Paused, Suspended).
    7: still in progress. A wait ends with 6 or 7 only by --timeout, or with 6 by --until-asked.

    Example: gitops-bg status shop/web --timeout 10m
    """
    output = Output(at.out)
    with LiveSession(kube=at.kube, place=at.place) as session:
        key = session.app(app)
        told = _Told(output, key)
        found = told.standing(session)
        if not watch or found.ends(until_asked=until_asked):
            return found.code
        deadline = time.monotonic() + timeout
        with changes(access(at.kube), key.namespace) as wait:
            while not found.ends(until_asked=until_asked):
                left = deadline - time.monotonic()
                if left <= 0:
                    output.note(f"{key}: not settled within {spoken(timeout)}; see `gitops-bg explain {key}`")
                    break
                wait(None if math.isinf(left) else left)
                found = told.standing(session)
        return found.code


class _Told:
    """Prints the state of the app, once for each phase and reason."""

    def __init__(self, output: Output, app: AppKey) -> None:
        self._output = output
        self._app = app
        self._last: Standing | None = None

    def standing(self, session: LiveSession) -> Standing:
        """Return the present standing. Raises `ObjectNotFound`."""
        body = session.client.get(APPS, self._app.namespace, self._app.name)
        if body is None:
            raise ObjectNotFound(f"the cluster runs no app {self._app}")
        found = standing_of(body)
        if found != self._last:
            self._last = found
            self._say(session, found)
        return found

    def _say(self, session: LiveSession, found: Standing) -> None:
        if self._output.json:
            at = session.now.isoformat(timespec="seconds")
            said = {"app": str(self._app), "phase": found.phase, "message": found.message, "code": found.code, "at": at}
            said |= {"pullRequest": found.pull_request} if found.pull_request else {}
            self._output.data_line(said | {"demands": [json_of(each, self._app) for each in found.demands]})
        else:
            self._output.line(f"{found.phase}: {found.message}" if found.message else found.phase)
            if found.pull_request:
                self._output.line(f"  pull request {found.pull_request}")
            for each in found.demands:
                self._output.show(drawn(each, self._app, 2, found.message))

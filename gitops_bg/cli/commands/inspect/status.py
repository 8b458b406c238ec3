"""`status`: each phase of an app as a line, until it has settled; the exit code says how, from what the agent wrote
last. Only reads.

As in `kubectl argo rollouts status`: good or bad ends the wait, a pause does not (argo-rollouts.md §5.1).
"""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from gitops_bg.cli.errors import ASKED, NOT_SEEN, NOT_SO, NOT_YET, OK, ObjectNotFound, UsageError
from gitops_bg.cli.options.options import App, LiveOptions
from gitops_bg.cli.options.values import positive_seconds
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.user_git import head_of_clone, is_in_clone, named_commit
from gitops_bg.cli.session.live_session import LiveSession, access
from gitops_bg.cli.session.watch import ASK_AGAIN, SEEN_WITHIN, SeenCommit, changes
from gitops_bg.cli.views.rows import drawn
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.core.checks.situations import FOLDER_IN_MAIN, LEAVING
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.conditions import HEALTH, Condition, Health, Phase
from gitops_bg.core.model.decision import ASKS_PEOPLE
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.status import Status
from gitops_bg.views.conditions import Advised, demanded, json_of_condition, live_conditions
from gitops_bg.views.words import spoken

_LOOK_EVERY = 0.5
"""Seconds between two looks for an app that is not there yet."""
_CODES = {Health.HEALTHY: OK, Health.DEGRADED: NOT_SO, Health.SUSPENDED: ASKED, Health.PROGRESSING: NOT_YET}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenOptions:
    """Which commit the agent is to have read."""

    commit: Annotated[
        str,
        typer.Option(
            "--commit",
            metavar="COMMIT",
            show_default="in a clone: HEAD, once it is pushed",
            help="Answer once the agent has read a main with this commit.",
        ),
    ] = ""
    until_seen: Annotated[
        bool, typer.Option("--until-seen", help="End once the agent has read the commit, whatever the phase is.")
    ] = False


@dataclass(frozen=True, slots=True)
class AppStanding:
    """The state of an app, in a word and a sentence. ``code`` is the exit code if the wait ends now."""

    phase: str
    message: str
    code: int
    demands: tuple[Condition, ...] = ()
    """The conditions that demand an action of somebody."""
    pull_request: str = ""
    """Number, address and state; empty where there is no pull request."""
    environment: str = ""
    """The environment that it is in; empty where its repository has none."""

    def ends(self, *, until_asked: bool) -> bool:
        """Return whether the wait ends."""
        return self.code in (OK, NOT_SO) or (until_asked and self.code == ASKED)


def status(
    app: App,
    at: LiveOptions,
    seen: SeenOptions,
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

    In a clone it answers once the agent has read HEAD, if that was pushed, and asks it to: `git push && gitops-bg
    status` is never about the push before.

    0: Healthy; or gone while it waited, as main asked for. 1: Degraded, ScaledToZero, Invalid or Held. 6: a person is
    asked (AwaitingPromotion, Paused, Suspended). 7: still in progress. 8: the agent has not read the commit within a
    minute, or cannot read main. A wait ends with 6 or 7 only by --timeout, or with 6 by --until-asked.

    Example: gitops-bg status shop/web --timeout 10m
    """
    output = Output(at.out)
    with LiveSession(kube=at.kube, place=at.place) as session:
        key = session.app(app)
        body = _awaited(session, key, timeout if watch else 0.0)
        wait = _Wait(session, output, _wanted(output, seen, key, body), seen.until_seen, until_asked, timeout)
        if wait.is_over(body) or not watch:
            return wait.end()
        with changes(access(at.kube), key.namespace) as change:
            while not wait.is_over(body) and wait.left > 0:
                wait.announce()
                change(min(wait.left, ASK_AGAIN) if wait.unseen else None if math.isinf(wait.left) else wait.left)
                if (now := session.client.get(APPS, key.namespace, key.name)) is None:
                    return wait.ended(body)
                body = now
        wait.print_lateness()
        return wait.end()


def _awaited(session: LiveSession, app: AppKey, timeout: float) -> Mapping[str, Any]:
    """Return the live app; one that only the clone here has is waited for: it was pushed just now."""
    until = time.monotonic() + min(timeout, SEEN_WITHIN)
    while True:
        try:
            return _live(session, app)
        except ObjectNotFound:
            if time.monotonic() > until or not is_in_clone(app):
                raise
        time.sleep(_LOOK_EVERY)


def _live(session: LiveSession, app: AppKey) -> Mapping[str, Any]:
    body = session.client.get(APPS, app.namespace, app.name)
    if body is None:
        raise ObjectNotFound(f"the cluster runs no app {app}")
    return body


def _wanted(output: Output, seen: SeenOptions, app: AppKey, body: Mapping[str, Any]) -> SeenCommit:
    """Return the commit that the agent is to have read. Raises `UsageError`."""
    if seen.commit:
        return SeenCommit(app, named_commit(seen.commit))
    wanted, note = head_of_clone(body)
    if note:
        output.notice(note)
    if seen.until_seen and not wanted:
        raise UsageError("--until-seen: name the commit by --commit, or run it in a clone whose HEAD is pushed")
    return SeenCommit(app, wanted)


class _Wait:
    """The wait for the end: first until the agent has read the commit, then until the app has settled."""

    def __init__(
        self,
        session: LiveSession,
        output: Output,
        commit: SeenCommit,
        until_seen: bool,
        until_asked: bool,
        timeout: float,
    ) -> None:
        self._session, self._output, self._commit = session, output, commit
        self._until_seen, self._until_asked, self._timeout = until_seen, until_asked, timeout
        self._told = StatePrinter(output, commit.app, session)
        self._began, self._announced = time.monotonic(), False
        self._found: AppStanding | None = None
        self.unseen = ""
        """Why the state does not count yet; empty where it does."""

    @property
    def left(self) -> float:
        """The seconds until the wait ends at the latest."""
        longest = min(self._timeout, SEEN_WITHIN) if self.unseen else self._timeout
        return self._began + longest - time.monotonic()

    @property
    def code(self) -> int:
        """The exit code, if the wait ends now."""
        assert self._found is not None
        if self.unseen:
            return NOT_SEEN
        return OK if self._until_seen else self._found.code

    def is_over(self, body: Mapping[str, Any]) -> bool:
        """Take in the present state, and show it where it counts; return whether the wait ends with it."""
        self.unseen, self._found = self._commit.lacks(body), standing_of(self._commit.app, body)
        if self.unseen:
            self._commit.ask(self._session, time.monotonic())
            return False
        self._told.print_new(self._found)
        return self._until_seen or self._found.ends(until_asked=self._until_asked)

    def announce(self) -> None:
        """Say, once, that it waits for the agent, where that takes a while: nothing else is shown meanwhile."""
        late = time.monotonic() - self._began > ASK_AGAIN
        if self.unseen and self._commit.wanted and late and not self._announced:
            self._announced = True
            self._output.notice(f"{self._commit.app}: waits until the agent has read {self._commit.wanted[:10]}")

    def print_lateness(self) -> None:
        """Say that the app has not settled in time, where that is so."""
        app, found = self._commit.app, self._found
        if not (self.unseen or self._until_seen or (found and found.ends(until_asked=self._until_asked))):
            self._output.notice(f"{app}: not settled within {spoken(self._timeout)}; see `gitops-bg explain {app}`")

    def ended(self, last: Mapping[str, Any]) -> int:
        """Say that the app is gone, as ``last`` said that it is to be; return the exit code.

        Raises `ObjectNotFound` where main did not ask for that.
        """
        if not is_to_end(last):
            raise ObjectNotFound(f"{self._commit.app} is gone from the cluster, and main did not ask for that")
        self._told.print_new(AppStanding("Ended", "the app is gone from the cluster, as main asked for", OK))
        return OK

    def end(self) -> int:
        """Show what was not shown yet, and why it does not count where it does not; return the exit code."""
        assert self._found is not None
        self._told.print_new(self._found)
        if self.unseen:
            self._output.notice(f"{self._commit.app}: {self.unseen}")
        return self.code


class StatePrinter:
    """Prints the state of the app, once for each phase and reason."""

    def __init__(self, output: Output, app: AppKey, session: LiveSession) -> None:
        self._output, self._app, self._session = output, app, session
        self._last: AppStanding | None = None

    def print_new(self, found: AppStanding) -> None:
        """Print a state, unless it was the last one printed; of one with another pull request only that."""
        last, self._last = self._last, found
        if found == last:
            return
        if self._output.json:
            self._print_json(found)
            return
        is_news = last is None or replace(found, pull_request=last.pull_request) != last
        if is_news:
            self._output.line(f"{found.phase}: {found.message}" if found.message else found.phase)
        if found.pull_request:
            self._output.line(f"  pull request {found.pull_request}")
        of = Advised(self._app, found.environment)
        for each in found.demands if is_news else ():
            self._output.show(drawn(each, of, 2, told=found.message))

    def _print_json(self, found: AppStanding) -> None:
        at = self._session.now.isoformat(timespec="seconds")
        said = {"app": str(self._app), "phase": found.phase, "message": found.message, "code": found.code, "at": at}
        said |= {"pullRequest": found.pull_request} if found.pull_request else {}
        of = Advised(self._app, found.environment)
        self._output.data_line(said | {"demands": [json_of_condition(each, of) for each in found.demands]})


def standing_of(app: AppKey, body: Mapping[str, Any]) -> AppStanding:
    """Return the standing of a live BlueGreenDeployment."""
    status = body.get("status") or {}
    phase = status.get("phase", "Unknown")
    asked = tuple(demanded(app, live_conditions(body)))
    read = Status.read(status)
    pull = str(read.pull_request or "")
    return AppStanding(
        phase, status.get("message", ""), _code(phase, status), asked, pull, environment=read.environment or ""
    )


def is_to_end(body: Mapping[str, Any]) -> bool:
    """Return whether main has asked that a live app ends: it is leaving, or may once its folder has left."""
    leaves = any(each.type == FOLDER_IN_MAIN and each.reason == LEAVING for each in live_conditions(body))
    return leaves or (body.get("spec") or {}).get("deletionPolicy") not in (None, DeletionPolicy.KEEP)


def _code(phase: str, status: Mapping[str, Any]) -> int:
    if phase == Phase.SCALED_TO_ZERO:
        return NOT_SO
    if phase in (Phase.WAITING, Phase.AWAITING_PROMOTION) and not _person_asked(status):
        return NOT_YET
    return _CODES[HEALTH[Phase(phase)]] if phase in set(Phase) else NOT_YET


def _person_asked(status: Mapping[str, Any]) -> bool:
    """Return whether only a person can move the app on: by an approval, or by opening a gate."""
    shut = {gate["kind"] for gate in status.get("gates") or [] if not gate["open"]}
    return bool(shut) and shut <= ASKS_PEOPLE

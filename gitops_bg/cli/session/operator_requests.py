"""An operator's request to the cluster, carried out by the agent, or by this process if no agent answers.

The request waits at the object of its app, or release group, until it was answered once; the agent writes it to the
ledger, now or later. It names what its writer saw: which versions it is about, and what was live.

What an app needs for an emergency is in its record and its live object, so that a command can do the work of an agent
(`Offline`). What a group has is in its folders in Git: only an agent carries a request out.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.reconcile.offline import Offline
from gitops_bg.cli.errors import OK, CommandFailed, NameNotFound, code_of
from gitops_bg.cli.options.groups import live_group
from gitops_bg.cli.options.options import LiveOptions, PatienceOptions
from gitops_bg.cli.output import Output, report
from gitops_bg.cli.session.live_session import LiveSession, access
from gitops_bg.cli.session.watch import Wait, changes, until
from gitops_bg.cluster.execution.operator_requests import requests_at
from gitops_bg.cluster.group_cluster import GroupCluster, SeenGroup
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import OperatorState, Record
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from gitops_bg.views.words import spoken

R = TypeVar("R", Record, GroupRecord)
R_co = TypeVar("R_co", Record, GroupRecord, covariant=True)


class Act(Protocol[R_co]):
    """Does the work of an agent until a record fulfils a condition."""

    def __call__(self, fulfilled: Callable[[R_co], bool], seconds: float, tell: Callable[[str], None]) -> bool:
        """Follow the request; ``tell`` gets every action. False where ``seconds`` passed first."""
        ...


class AskedObject(Protocol[R_co]):
    """A live app or release group that something is asked of."""

    @property
    def subject(self) -> AppOrGroup:
        """Its name."""
        ...

    @property
    def record(self) -> R_co:
        """Its present record in the cluster."""
        ...

    def ask(self, request: Request) -> None:
        """Write the request for the agent to carry out."""
        ...

    def withdraw(self, request: Request) -> None:
        """Take the request back, unless it is answered."""
        ...

    def is_lost(self, request: Request) -> bool:
        """Return whether somebody overwrote the request before anybody answered it."""
        ...

    def wait(self, fulfilled: Callable[[R_co], bool], seconds: float) -> bool:
        """Watch until the record fulfils the condition; False where ``seconds`` passed first."""
        ...

    @property
    def act(self) -> "Act[R_co] | None":
        """Does the work of an agent; None where only an agent can."""
        ...


@dataclass(frozen=True, slots=True)
class AnsweredRequest(Generic[R]):
    """How a request ended. ``by_agent``: an agent answered it; otherwise this process did."""

    after: R
    by_agent: bool


def now() -> datetime:
    """Return the time of the real clock."""
    return datetime.now(UTC)


def facts_of(cluster: Offline, app: AppKey) -> Facts:
    """Return the facts that the cluster has of the app. Raises `NameNotFound`."""
    facts = cluster.facts()
    if facts is None:
        raise NameNotFound(f"the cluster runs no app {app}")
    return facts


def carry_out(asked: AskedObject[R], request: Request, patience: PatienceOptions, output: Output) -> AnsweredRequest[R]:
    """Write the request; wait for an agent, or do its work. Raises `CommandFailed` where it takes too long, and where
    only an agent can do it, and none answers.
    """
    output.writes()
    asked.ask(request)

    def settled(record: R) -> bool:
        return record.operator.has_answered(request.id) and _has_arrived(record)

    try:
        by_agent, act = _is_answered_by_agent(asked, request, patience), asked.act
        if by_agent:
            done = asked.wait(settled, patience.timeout)
        elif act is not None:
            output.notice(f"no agent answered within {spoken(patience.grace)}; acting on the cluster directly")
            done = act(settled, patience.timeout, output.notice)
        else:
            raise CommandFailed(
                f"{asked.subject}: no agent answered within {spoken(patience.grace)}; the request waits for one, for a "
                "day: a release group is what its folders in Git say, and only an agent reads them"
            )
    except KeyboardInterrupt:
        _withdraw(asked, request, output)
        raise
    if not done:
        raise _not_done(asked.subject, patience)
    return AnsweredRequest(asked.record, by_agent)


def _is_answered_by_agent(asked: AskedObject[R], request: Request, patience: PatienceOptions) -> bool:
    """Wait for an agent. One that answers others meanwhile is there, and gets the time again; a request that somebody
    overwrote is written again. Raises `CommandFailed` where that goes on for too long.
    """
    until = now() + timedelta(seconds=patience.timeout)
    while now() < until:
        seen: OperatorState = asked.record.operator

        def has_news(record: R, seen: OperatorState = seen) -> bool:
            return record.operator.request != seen.request or asked.is_lost(request)

        if not seen.has_answered(request.id) and not asked.wait(has_news, patience.grace):
            return False
        if asked.record.operator.has_answered(request.id):
            return True
        if asked.is_lost(request):
            asked.ask(request)
    raise _not_done(asked.subject, patience)


def _withdraw(asked: AskedObject[R], request: Request, output: Output) -> None:
    """Take back the request of a command that is interrupted: nobody waits for what it does days later."""
    try:
        asked.withdraw(request)
    except GitopsBgError as error:
        output.notice(
            f"{asked.subject}: the request could not be taken back, and an agent may still answer it: {error}"
        )
    else:
        answered = asked.record.operator.has_answered(request.id)
        became = "was carried out already" if answered else "is taken back"
        output.notice(f"{asked.subject}: interrupted; the request {became}")


def _not_done(subject: AppOrGroup, patience: PatienceOptions) -> CommandFailed:
    return CommandFailed(f"{subject}: not done within {spoken(patience.timeout)}; see `gitops-bg explain {subject}`")


def _has_arrived(record: Record | GroupRecord) -> bool:
    """Return whether no shift of traffic is under way."""
    if isinstance(record, GroupRecord):
        active = record.state.only(VersionStage.ACTIVE)
        return record.transition is None and active == record.wanted(active)
    return record.routing.switch is None and (
        record.override is None or record.routing.traffic == record.override.to_digest
    )


@dataclass(frozen=True, slots=True)
class AskedGroup:
    """One live release group, watched."""

    subject: GroupKey
    live: GroupCluster
    next_change: Wait

    @property
    def record(self) -> GroupRecord:
        """Its present record."""
        return self.seen.record

    @property
    def spec(self) -> Mapping[str, Any]:
        """What its file said last."""
        body = self.seen.body
        return {} if body is None else body.get("spec") or {}

    @property
    def seen(self) -> SeenGroup:
        """Its present object."""
        return self.live.seen(self.subject)

    def ask(self, request: Request) -> None:
        """Write the request for the agent to carry out. Raises ``NotFound``, ``Refused``, ``Transient``."""
        self.live.request(self.subject, request)

    def withdraw(self, request: Request) -> None:
        """Take the request back, unless it is answered. Raises ``NotFound``, ``Refused``, ``Transient``."""
        self.live.withdraw(self.subject, request)

    def is_lost(self, request: Request) -> bool:
        """Return whether somebody who knows of no others overwrote the request before anybody answered it."""
        seen = self.seen
        waits = any(each.id == request.id for each in requests_at(seen.body))
        return not waits and not seen.record.operator.has_answered(request.id)

    def wait(self, fulfilled: Callable[[GroupRecord], bool], seconds: float) -> bool:
        """Watch until the record fulfils the condition; False where ``seconds`` passed first."""
        return until(lambda: fulfilled(self.record), self.next_change, seconds)

    @property
    def act(self) -> None:
        """None: only an agent can."""
        return None


@contextmanager
def asked_group(at: LiveOptions, name: str) -> Iterator[AskedGroup]:
    """Yield the live group that a person means. Raises `NameNotFound`, `UsageError`."""
    with LiveSession(at.kube, at.place) as session:
        key = live_group(session.client, at.place.namespace, name)
        with changes(access(at.kube), key.namespace, groups=True) as next_change:
            yield AskedGroup(key, GroupCluster(session.client), next_change)


_Of = TypeVar("_Of", bound=Hashable)
_T = TypeVar("_T")


def each_of(them: Iterable[_Of], act: Callable[[_Of], _T], *, for_programs: bool) -> tuple[list[_T], int]:
    """Return the results of those that succeeded, and the exit code: that of the first one that failed."""
    done: list[_T] = []
    code = OK
    for each in dict.fromkeys(them):
        try:
            done.append(act(each))
        except GitopsBgError as error:
            report(error, for_programs=for_programs)
            code = code or code_of(error)
    return done, code

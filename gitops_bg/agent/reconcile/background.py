"""Work in the background: measurements, by providers over HTTP or Jobs in the cluster, hooks, alerts, pull requests.

A pass asks for results before it decides, and orders new work after the record is saved, so that a result counts once,
and only with the record that counted it. Contains no rule. Secrets are read at the time of the call, with the remedy
where the agent lacks the right.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from gitops_bg.agent.forge_thread import ForgeThread
from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.agent.groups.leaving import LeftFacts
from gitops_bg.agent.metrics import Metrics
from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.agent.runtime.schedule import Timers
from gitops_bg.analysis.bounded import BoundedConditions
from gitops_bg.analysis.measurements import MeasurementPool, MetricEvaluator
from gitops_bg.analysis.registry import Registry
from gitops_bg.cluster.api.errors import NotFound
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.execution.jobs import PROVIDER as JOB
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Refused
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.groups.record import GroupDecision
from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementRequest, MeasurementResult, RunRecord
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.hooks import Alert, HookCall
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.hooks import Compose, HookCaller, HookRequest
from gitops_bg.notify import Destination, linkable, sender
from gitops_bg.outbound.addresses import EVERYWHERE, AddressRules
from gitops_bg.outbound.http import Trust
from gitops_bg.outbound.secrets import Secrets


def secret_reader(cluster: Cluster) -> Callable[[str, str], Mapping[str, bytes]]:
    """Return a function that reads the data of a Secret by namespace and name; a refusal names the missing right."""

    def read(namespace: str, name: str) -> Mapping[str, bytes]:
        try:
            return cluster.secret(namespace, name)
        except NotFound:
            raise
        except Refused as error:
            grant = f"bind the ClusterRole gitops-bg-secrets to it in namespace {namespace}"
            raise Refused(f"the agent may not read Secret {namespace}/{name}: {grant}; {error}") from error

    return read


class MeasurementRunner:
    """The measurements of all apps and release groups. ``wake`` has one of them looked at; ``clock`` gives UTC,
    and may be set; ``steady`` only goes on.
    """

    def __init__(  # noqa: PLR0913 - the wiring, by keyword
        self,
        *,
        cluster: Cluster,
        timers: Timers,
        metrics: Metrics,
        wake: Callable[[AppOrGroup], None],
        clock: Callable[[], datetime],
        steady: Callable[[], datetime],
        threads: int,
        addresses: AddressRules,
    ) -> None:
        self._cluster = cluster
        self._timers = timers
        self._metrics = metrics
        self._conditions = BoundedConditions(steady)
        measuring = MetricEvaluator(Registry(), secret_reader(cluster), clock, self._conditions.is_true, addresses)
        self._measurer = MeasurementPool(measuring.measure, wake, clock, threads, steady=steady)

    def results(self, subject: AppOrGroup, record: RunRecord, now: datetime) -> tuple[MeasurementResult, ...]:
        """Return the results that no saved record contains."""
        return self._measurer.results(subject) + self._cluster.measured(subject, record, now)

    def update(
        self, subject: AppOrGroup, record: RunRecord, measures: Sequence[MeasurementRequest], now: datetime
    ) -> None:
        """Begin the measurements that are due by the saved record; end those that it does not ask for."""
        self._cluster.measure(subject, record, measures, now)
        self._timers.schedule(subject, self._measurer.update(subject, _without_jobs(measures)), "measure")

    def counted(
        self,
        subject: AppOrGroup,
        before: RunRecord,
        results: Sequence[MeasurementResult],
        still_due: Sequence[MeasurementRequest],
    ) -> None:
        """Report the results that a saved record has counted to the metrics."""
        waiting = {measure.id for measure in still_due}
        providers = {
            (run.stage, one.metric.name): one.metric.provider for run in before.analyses.runs for one in run.metrics
        }
        for result in results:
            if result.id not in waiting and result.phase is not AnalysisPhase.RUNNING:
                provider = providers.get((result.id.stage, result.id.metric), "")
                self._metrics.measured(subject, provider, result)

    def forget(self, subject: AppOrGroup) -> None:
        """End the measurements of what is deleted."""
        self._timers.schedule(subject, None, "measure")
        self._measurer.forget(subject)

    def stop(self) -> None:
        """Begin no further measurement."""
        self._measurer.stop()
        self._conditions.close()

    @property
    def idle(self) -> bool:
        """Whether no provider is being queried, and every due Job was started; Jobs take their time."""
        return self._measurer.idle and self._cluster.jobs_started


def _without_jobs(measures: Sequence[MeasurementRequest]) -> list[MeasurementRequest]:
    return [measure for measure in measures if measure.metric.provider != JOB]


@dataclass(frozen=True, slots=True)
class Background:
    """The background work of all apps and groups."""

    measurements: MeasurementRunner
    hooks: HookCaller
    forge: ForgeThread

    def update(self, facts: Facts | GroupFacts | LeftFacts, decision: Decision | GroupDecision, now: datetime) -> None:
        """Begin what is due by the record just saved; end what the record does not ask for."""
        self.measurements.update(facts.subject, decision.record, decision.measurements, now)
        self.hooks.update(facts.subject, decision.calls)
        if isinstance(facts, LeftFacts):
            self.forge.set_desired(facts.group, None)
        else:
            self.forge.update(facts, decision, now)

    def forget(self, subject: AppOrGroup) -> None:
        """End the work for what is deleted."""
        self.measurements.forget(subject)
        self.hooks.update(subject, ())
        self.forge.set_desired(subject, None)


TIMEOUT = 10.0
"""Seconds for one attempt."""
UNUSABLE = 400
"""The status of an address that is none of its service: a refusal."""


COMMIT = "Commit"
"""The title of the fact that is a commit of the repository."""
SHORT = 10
SHORTEST_SECRET = 8
"""Characters of a part of a URL that is hidden: shorter ones are words."""


def alert_composer(
    cluster: str,
    commit_url: Callable[[str], str] = lambda _: "",
    addresses: AddressRules = EVERYWHERE,
    page_of: Callable[[AppOrGroup], str] = lambda _: "",
) -> Compose:
    """Return the function that composes requests of alerts, which name ``cluster`` as their origin.

    ``commit_url`` gives the address of a commit's page, or nothing where that is not known; ``addresses`` are where
    a library may send to, which connects by itself. ``page_of`` gives the page of an app or a group on the dashboard.
    """

    def compose(subject: AppOrGroup, call: HookCall, secrets: Secrets) -> HookRequest:
        provider, alert = reread_json(call.hook.request), call.alert
        if alert is None:
            raise ValueError(f"{call.hook.title} has nothing to say")
        more = (("Target", provider.get("target", "")), ("Cluster", cluster))
        facts = (*alert.facts, *((title, value) for title, value in more if value))
        whole = replace(alert, facts=facts, links=_links(alert, commit_url, page_of(subject)))
        to = _destination(provider, secrets)
        try:
            send = sender(to, subject, whole, addresses)
        except ValueError as error:
            said = str(error)
            send = lambda: (UNUSABLE, said)  # noqa: E731 - told at once, as a service would: no later try helps
        return HookRequest("", b"", (), TIMEOUT, Trust(), send=send)

    return compose


def _secret_parts(url: str) -> Iterator[str]:
    """Yield the parts of an address that may be credentials: all but the scheme, and words too short to hide."""
    parts = urlsplit(url)
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    for text in (user, password, *parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))):
        if len(text) >= SHORTEST_SECRET:
            yield text
            yield unquote(text)


def _links(alert: Alert, commit_url: Callable[[str], str], page: str) -> tuple[tuple[str, str], ...]:
    """Return the pages that a chat may lead to: on the dashboard, that of the commit, and those of the alert."""
    commit = dict(alert.facts).get(COMMIT, "")
    every = (("Dashboard", page), (f"Commit {commit[:SHORT]}", commit_url(commit) if commit else ""), *alert.links)
    return tuple((title, address) for title, url in every if (address := linkable(url)))


def _destination(provider: Mapping[str, Any], secrets: Secrets) -> Destination:
    """Return the destination with the address of the Secret, else that of the file.

    Raises ``NoSuchKey`` where neither has one.
    """
    name, address, token = provider.get("secret"), provider.get("address", ""), ""
    if name:
        token = (secrets.setting(name, "token") or "") if provider["type"] == "slack" else ""
        written = secrets.setting(name, "address")
        address = written or address or ("" if token else secrets.value(name, "address"))
    for secret in filter(None, (address, urlsplit(address).path.lstrip("/"), token, *_secret_parts(address))):
        secrets.hide(secret)
    return Destination(provider["type"], address, provider["channel"], provider["username"], token)

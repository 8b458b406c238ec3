"""A Canary of Flagger becomes an app (flagger.md §1, §3). Reads nothing; metrics are those of `flagger_metrics`.

What in a Canary and its ScaledObject is of the copies that Flagger makes is reported (flagger.md §1.5, §1.7): here
nothing is called as they are, ``<target>-primary``. ``<target>-canary`` in the query of a trigger becomes the Service
that carries live traffic (`manifests.autoscaling`); a query of primaryScalerQueries is taken word for word.

A DaemonSet becomes an app only with a Canary: what runs on every node for the node's sake has no live traffic.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.importing.draft import AppDraft, of_other_tools, target_of
from gitops_bg.spec.importing.manifest import Manifest, Table, imported, left, left_fields
from gitops_bg.spec.importing.workloads import DEPLOYMENT_FIELDS
from gitops_bg.spec.manifests.autoscaling import PAUSED_AT, SCALED_OBJECT
from gitops_bg.spec.yaml.scalars import Path, as_map, as_maps, maps, texts

API = "flagger.app/"
_WEIGHTS = "shares live traffic between versions, and here all of it is on one"
_MESH = "is what a mesh or an ingress does with requests, and here Services and HTTPRoutes lead them"
_ROUTES = "requests with a header reach the candidate by strategy.blueGreen.routes"
_SIDECARS = ("istio-proxy", "envoy")
"""Containers whose ports Flagger does not discover (flagger.md §1.3)."""
_WINDOW = "60s"
"""Flagger's default of analysis.interval."""
_FEW = ("kubernetes", "")
"""Providers that move no traffic of their own."""

TABLE: Table = {
    **imported("targetRef", "autoscalerRef", "progressDeadlineSeconds", "suspend", "metricsServer", "revertOnDeletion"),
    **left(
        "is none here: Services lead live traffic",
        "leave it out; for the Gateway API write strategy.blueGreen.routes",
        "provider",
        unless=_FEW,
    ),
    **left(
        "is for every version, and a forgotten one would let all of them live unmeasured",
        "promote one version with `gitops-bg promote --full`",
        "skipAnalysis",
        unless=(False,),
    ),
    **left(_MESH, "apply it as before; it leads to the active Service", "ingressRef", "routeRef", "upstreamRef"),
    **imported("service.name", "service.port", "service.portName", "service.targetPort", "service.portDiscovery"),
    **imported(
        "service.appProtocol", "service.trafficDistribution", "service.headless", "service.apex", "service.canary"
    ),
    **left("is of the Service of the primary, which is not needed here", "leave it out", "service.primary"),
    **left(
        "is for the metadata of Services that others change; here fields of others are left alone",
        "leave it out",
        "service.unmanagedMetadata",
    ),
    **imported("service.gatewayRefs[].name", "service.gatewayRefs[].namespace", "service.gatewayRefs[].sectionName"),
    **imported("service.gatewayRefs[].port", "service.gatewayRefs"),
    **left("is no Gateway", "name a Gateway", "service.gatewayRefs[].kind", unless=("Gateway",)),
    **left(
        "is not the group of the Gateway API",
        "name a Gateway",
        "service.gatewayRefs[].group",
        unless=("gateway.networking.k8s.io",),
    ),
    **imported("service.hosts"),
    **left(
        _MESH,
        f"write it into a route of your own that leads to the active Service; {_ROUTES}",
        "service.timeout",
        "service.backendTimeout",
        "service.meshName",
        "service.backends",
        "service.delegation",
        "service.match",
        "service.retries",
        "service.rewrite",
        "service.mirror",
        "service.headers",
        "service.gateways",
        "service.corsPolicy",
        "service.trafficPolicy",
    ),
    **imported(
        "analysis.interval", "analysis.iterations", "analysis.threshold", "analysis.alerts", "analysis.webhooks"
    ),
    **left(
        "asks whether more traffic may move, and all of it moves at once",
        "write type: confirm-promotion",
        "analysis.webhooks[].type",
        unless=(
            "",
            "confirm-rollout",
            "pre-rollout",
            "rollout",
            "confirm-promotion",
            "rollback",
            "post-rollout",
            "event",
        ),
    ),
    **imported("analysis.metrics"),
    **left(
        _WEIGHTS,
        "leave it out; iterations says how often each metric is measured",
        "analysis.maxWeight",
        "analysis.stepWeight",
        "analysis.stepWeights",
        "analysis.stepWeightPromotion",
    ),
    **left(
        "copies or chooses requests, and here live requests reach one version",
        f"leave it out; {_ROUTES}",
        "analysis.mirror",
        "analysis.mirrorWeight",
        "analysis.match",
        "analysis.sessionAffinity",
        unless=(False,),
    ),
    **left(
        "is a share of pods that suffice, and here all of them have to be available",
        "leave it out",
        "analysis.primaryReadyThreshold",
        "analysis.canaryReadyThreshold",
        unless=(100,),
    ),
}
"""Every field of `spec` of a Canary."""


def draft_of(canary: Manifest, workload: Manifest) -> AppDraft:
    """Return the app that a Canary becomes; ``workload`` is the Deployment or DaemonSet of its targetRef. Without
    metrics.
    """
    app = AppKey(canary.namespace, workload.name)
    draft = AppDraft(app, canary, workload, target_of(workload))
    service = as_map(canary.spec.get("service"))
    apex = str(service.get("name") or workload.name)
    draft.blue_green.update(activeService=apex, previewService=f"{apex}-canary", autoPromotionEnabled=True)
    draft.comments["autoPromotionEnabled"] = "as Flagger does; remove it, and a person decides"
    draft.put("progressDeadlineSeconds", canary.spec.get("progressDeadlineSeconds"))
    draft.spec["progressDeadlineAbort"] = True
    draft.comments["progressDeadlineAbort"] = "as Flagger does"
    draft.put("revisionHistoryLimit", workload.spec.get("revisionHistoryLimit"))
    draft.put("autoscalerRef", canary.spec.get("autoscalerRef"))
    if canary.spec.get("revertOnDeletion") and workload.kind == "DaemonSet":
        message = "gives live traffic back to a Deployment, and the target is a DaemonSet"
        remedy = "leave it out; to go back, lead the Service to the DaemonSet yourself"
        draft.listed.append(canary.problem(("spec", "revertOnDeletion"), message, remedy))
    elif canary.spec.get("revertOnDeletion"):
        draft.spec |= {
            "deletionPolicy": "revertToTarget",
            "adopt": {"deployment": workload.name, "scaleDown": "progressively"},
        }
        draft.comments["deletionPolicy"] = "revertOnDeletion; the target is what the app is adopted from"
    if canary.spec.get("suspend"):
        draft.suspend(f"spec.suspend of the Canary {canary.name}")
    _routes(service, draft)
    _analysis(canary, draft)
    if workload.spec.get("replicas") == 0:
        message = "is 0, as Flagger leaves it in the cluster, and the app would have no pods"
        remedy = "import the manifest from Git, or write how many pods it is to have"
        draft.problems.append(workload.problem(("spec", "replicas"), message, remedy))
    draft.problems.extend(_off_its_nodes(workload))
    if workload.name != canary.name:
        message = f"is called {canary.name}, and its app is called as its target: {workload.name}"
        draft.listed.append(canary.problem(("metadata", "name"), message, "commands take the app's name"))
    draft.listed.extend((*of_other_tools(canary), *of_other_tools(workload)))
    draft.listed.extend(_hosts_without_a_gateway(canary, service))
    draft.listed.extend(left_fields(canary, TABLE))
    draft.listed.extend(left_fields(workload, DAEMON_SET_FIELDS if workload.kind == "DaemonSet" else DEPLOYMENT_FIELDS))
    return draft


def _routes(service: Mapping[str, Any], draft: AppDraft) -> None:
    """Write the route of the Gateway API where the Canary has one."""
    refs, hosts = as_maps(service.get("gatewayRefs")), service.get("hosts")
    known = ("name", "namespace", "sectionName", "port")
    if refs:
        routes: dict[str, Any] = {"parentRefs": [{key: each[key] for key in known if key in each} for each in refs]}
        hosts = [each for each in hosts if each != "*"] if isinstance(hosts, list) else []
        if service.get("portDiscovery") and isinstance(service.get("port"), int):
            routes["port"] = service["port"]  # of several, it is the one that Flagger's route leads to
        draft.blue_green["routes"] = {**routes, **({"hosts": hosts} if hosts else {})}


def _hosts_without_a_gateway(canary: Manifest, service: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the hosts of a mesh or an ingress: those of the Gateway API are in the route."""
    hosts = service.get("hosts")
    if hosts and hosts != ["*"] and not as_maps(service.get("gatewayRefs")):
        remedy = f"write it into a route of your own that leads to the active Service; {_ROUTES}"
        yield canary.problem(("spec", "service", "hosts"), _MESH, remedy, at_key=True)


def _analysis(canary: Manifest, draft: AppDraft) -> None:
    """Write interval, iterations and threshold, hooks and alerts. No metric fails more often than it is measured."""
    theirs = as_map(canary.spec.get("analysis"))
    ours: dict[str, Any] = {"interval": theirs.get("interval") or _WINDOW}
    written = theirs.get("iterations")
    iterations = written if isinstance(written, int) and written > 0 else _steps(theirs)
    if iterations:
        ours["iterations"] = iterations
        if iterations != written:
            draft.comments["iterations"] = "as many as there were steps of weight"
    threshold = theirs.get("threshold")
    if isinstance(threshold, int):
        ours["threshold"] = min(threshold, iterations or _ITERATIONS)
        if threshold > ours["threshold"]:
            message = f"{threshold} is more than each metric is measured, so nothing could fail"
            place = ("spec", "analysis", "threshold")
            draft.listed.append(canary.problem(place, message, f"it is {ours['threshold']} in app.yaml: all of them"))
    hooks = [each for each in as_maps(theirs.get("webhooks")) if each.get("type") not in _NO_HOOKS]
    if len(hooks) < len(as_maps(theirs.get("webhooks"))):
        draft.let_a_person_decide("a hook has no equal; true, once another one asks")
    for field, values in (("webhooks", hooks), ("alerts", theirs.get("alerts"))):
        if values:
            ours[field] = values
    draft.spec["analysis"] = ours


_NO_HOOKS = ("confirm-traffic-increase",)
_ITERATIONS = 10
"""The default of iterations, here and for the provider kubernetes."""


def _steps(analysis: Mapping[str, Any]) -> int | None:
    """Return how many steps of weight there are; None where that is not said (flagger.md §3.2)."""
    weights, step = analysis.get("stepWeights"), analysis.get("stepWeight")
    if isinstance(weights, list) and weights:
        return len(weights)
    most = analysis.get("maxWeight") or 100
    return math.ceil(most / step) if isinstance(step, int) and isinstance(most, int) and step > 0 else None


def services_of(canary: Manifest, draft: AppDraft) -> list[dict[str, Any]]:
    """Return the Services that Flagger makes of a Canary: the active one, and the preview where it has metadata of its
    own (flagger.md §1.5).
    """
    service = as_map(canary.spec.get("service"))
    ports = _ports(service, draft)
    if not ports:
        return []
    apex, preview = draft.blue_green["activeService"], draft.blue_green["previewService"]
    made = [_service(apex, draft.app.namespace, service, as_map(service.get("apex")), ports)]
    if as_map(service.get("canary")):
        made.append(_service(preview, draft.app.namespace, service, as_map(service["canary"]), ports))
    return made


def left_of_services(canary: Manifest, draft: AppDraft, services: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield what a Canary says of its Services beside their ports, and the Services of the folder do not have: a
    Service of the files stays as it is.
    """
    service = as_map(canary.spec.get("service"))
    found = {str(as_map(each.get("metadata")).get("name")): each for each in services}
    for name, field in ((draft.blue_green["activeService"], "apex"), (draft.blue_green["previewService"], "canary")):
        own = as_map(service.get(field))
        wanted = _service(name, draft.app.namespace, service, own, [])
        there, why = found.get(name, {}), f"is not what the Service {name} has"
        metadata, spec = as_map(there.get("metadata")), as_map(there.get("spec"))
        for key in ("labels", "annotations"):
            if not as_map(own.get(key)).items() <= as_map(metadata.get(key)).items():
                yield canary.problem(("spec", "service", field, key), why, f"write {key} into its file", at_key=True)
        for key, ours in (("headless", "clusterIP"), ("trafficDistribution", "trafficDistribution")):
            if ours in wanted["spec"] and (there or field == "apex") and spec.get(ours) != wanted["spec"][ours]:
                remedy = f"write {ours}: {wanted['spec'][ours]} into its file"
                yield canary.problem(("spec", "service", key), why, remedy, at_key=True)


def ports_of(canary: Manifest, draft: AppDraft) -> list[dict[str, Any]]:
    """Return the ports of the Services that Flagger makes of a Canary; none where it says none."""
    return _ports(as_map(canary.spec.get("service")), draft)


def _service(
    name: str, namespace: str, service: Mapping[str, Any], metadata: Mapping[str, Any], ports: list[dict[str, Any]]
) -> dict[str, Any]:
    more = {key: dict(metadata[key]) for key in ("labels", "annotations") if as_map(metadata.get(key))}
    spec: dict[str, Any] = {"clusterIP": "None"} if service.get("headless") else {}
    if service.get("trafficDistribution"):
        spec["trafficDistribution"] = service["trafficDistribution"]
    spec["ports"] = ports
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, **more},
        "spec": spec,
    }


def _ports(service: Mapping[str, Any], draft: AppDraft) -> list[dict[str, Any]]:
    port = service.get("port")
    if not isinstance(port, int):
        return []
    own: dict[str, Any] = {"name": service.get("portName") or "http", "port": port}
    own |= {"targetPort": service["targetPort"]} if service.get("targetPort") else {}
    own |= {"appProtocol": service["appProtocol"]} if service.get("appProtocol") else {}
    return [own, *_discovered(service, draft)] if service.get("portDiscovery") else [own]


def _discovered(service: Mapping[str, Any], draft: AppDraft) -> list[dict[str, Any]]:
    """Return the ports of the containers beside the Service's own (flagger.md §1.3)."""
    known = (service.get("port"), service.get("targetPort"))
    found = []
    for container in as_maps(as_map(draft.template.get("spec")).get("containers")):
        for number, port in enumerate(as_maps(container.get("ports"))):
            name, of_container = port.get("name"), port.get("containerPort")
            if container.get("name") not in _SIDECARS and name not in known and of_container not in known:
                title = name or f"tcp-{container.get('name')}-{number}"
                found.append({"name": title, "port": of_container, "targetPort": name or of_container})
    return found


class CanaryCopies:
    """The copies of one Canary."""

    def __init__(self, canary: Manifest, target: str, apex: str) -> None:
        """``target`` is the name of the workload, ``apex`` the Service that carries live traffic."""
        self._canary = canary
        self._target = target
        self._apex = apex

    def asked_for(self, scaler: Manifest | None) -> Iterator[Problem]:
        """Yield the queries and hooks that name a copy, and the pause in which Flagger keeps the target's own
        autoscaler.
        """
        queries = dict(texts(as_map(self._canary.spec.get("autoscalerRef")).get("primaryScalerQueries")))
        for name, query in queries.items():
            place: Path = ("spec", "autoscalerRef", "primaryScalerQueries", name)
            yield from self._of(self._canary, place, query, "canary|primary")
        if scaler is not None and scaler.kind == SCALED_OBJECT:
            yield from self._of_triggers(scaler, queries)
        yield from self._of_analysis()

    def _of_triggers(self, scaler: Manifest, queries: Mapping[str, str]) -> Iterator[Problem]:
        for number, trigger in maps(scaler.spec.get("triggers")):
            query = str(as_map(trigger.get("metadata")).get("query"))
            if str(trigger.get("name")) not in queries:
                yield from self._of(scaler, ("spec", "triggers", number, "metadata", "query"), query, "primary")
        if is_paused(scaler.value):
            message = "is how Flagger keeps the target at 0 pods, and the app would have none"
            yield scaler.problem(("metadata", "annotations", PAUSED_AT), message, "it is left out", at_key=True)

    def _of_analysis(self) -> Iterator[Problem]:
        analysis = as_map(self._canary.spec.get("analysis"))
        for number, metric in maps(analysis.get("metrics")):
            if metric.get("query"):
                place: Path = ("spec", "analysis", "metrics", number, "query")
                yield from self._of(self._canary, place, str(metric["query"]), "primary")
        for number, hook in maps(analysis.get("webhooks")):
            asked = [str(hook.get("url")), *(text for _, text in texts(hook.get("metadata")))]
            place = ("spec", "analysis", "webhooks", number)
            yield from self._of(self._canary, place, "\n".join(asked), "primary")

    def _of(self, manifest: Manifest, place: Path, text: str, suffixes: str) -> Iterator[Problem]:
        names = "|".join(re.escape(each) for each in {self._target: None, self._apex: None})
        found = re.search(rf"(?<![\w-])(?:{names})-(?:{suffixes})(?![\w-])", text, flags=re.ASCII)
        if found:
            message = f"asks for {found.group()}, and nothing is called so here"
            remedy = f"ask for the Service {self._apex}, which carries live traffic, or for the labels of the pods"
            yield manifest.problem(place, message, remedy)


def is_paused(value: Mapping[str, Any]) -> bool:
    """Return whether a ScaledObject is as Flagger leaves it in the cluster."""
    annotations = as_map(as_map(value.get("metadata")).get("annotations"))
    return value.get("kind") == SCALED_OBJECT and annotations.get(PAUSED_AT) == "0"


def resumed(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ScaledObject without that pause."""
    metadata = dict(as_map(value.get("metadata")))
    annotations = {key: each for key, each in as_map(metadata.pop("annotations", None)).items() if key != PAUSED_AT}
    return {**value, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


_NOWHERE_OF_FLAGGER = "flagger.app/scale-to-zero"
_NODE_SELECTOR = ("spec", "template", "spec", "nodeSelector")

DAEMON_SET_FIELDS: Table = {
    **imported("selector", "template", "minReadySeconds", "revisionHistoryLimit"),
    **left(
        "is of pods that are replaced node by node, and here a version comes up whole beside the live one",
        "leave it out",
        "updateStrategy",
        unless=({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}, {}),
    ),
}
"""Every field of `spec` of a DaemonSet; `updateStrategy` unless it is what the API server writes."""


def _off_its_nodes(workload: Manifest) -> Iterator[Problem]:
    """Refuse a DaemonSet as Flagger leaves it in the cluster: on no node (flagger.md §1.3)."""
    selector = as_map(as_map(as_map(workload.spec.get("template")).get("spec")).get("nodeSelector"))
    if _NOWHERE_OF_FLAGGER in selector:
        message = "is on no node, as Flagger leaves it in the cluster, and the app would have no pods"
        remedy = "import the manifest from Git, or remove this selector"
        yield workload.problem((*_NODE_SELECTOR, _NOWHERE_OF_FLAGGER), message, remedy, at_key=True)
